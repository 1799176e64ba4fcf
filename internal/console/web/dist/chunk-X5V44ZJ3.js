/* sources sha256 a8315838d54c619facc66d5d3af4fa76e87f5616df4ba5e16b99ef1da40a105c */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
