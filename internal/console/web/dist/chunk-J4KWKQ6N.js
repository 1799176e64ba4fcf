/* sources sha256 d758c6948332b26ece837f94fbcea308e9e5cd8a2f882d5d1a4fe3f00bb16ce6 */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
