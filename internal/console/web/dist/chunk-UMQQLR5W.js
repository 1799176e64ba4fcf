/* sources sha256 fa90f38967612d45a41d119a6f4a246cc8f4122b2e29d54b0be8b597ce7287da */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
