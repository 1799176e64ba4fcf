/* sources sha256 22676c5bd0d43b7b7cb2d8369d0217f18bf7589e9577e419f6827153238885af */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
