/* sources sha256 3059afa21453f99a8f98b677befabfa7333e90fb0816ae3630351c320789fb9d */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
