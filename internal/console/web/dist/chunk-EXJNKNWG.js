/* sources sha256 7d0ed4377f03c411e20cbc26b9cce2dbd3e916e2ae19e02534efd655d3170bd4 */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
