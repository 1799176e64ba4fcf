/* sources sha256 f5e69eb9f6f02ab6252286954069e56ed02b415fb72be99104ae21fa222d23df */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
