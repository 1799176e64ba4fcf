/* sources sha256 115e384dbf1274d4ced1eb34aa2e24759875c2de90426ce818cfaf4307816a2d */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
