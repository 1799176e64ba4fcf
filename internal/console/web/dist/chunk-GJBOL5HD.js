/* sources sha256 d89d64b1d1e36e93d6df4b62b820e757e2940a6bbdf0a8b2d6a832b60162085f */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
