/* sources sha256 0ee46ff93d481d33329c4fb742319f5a8e54932881d173bc812c1fe61a25d57b */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
