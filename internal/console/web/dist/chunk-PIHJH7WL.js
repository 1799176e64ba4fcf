/* sources sha256 cffed32e99231171a9a5f8c32a8862dd3a16efde75e2c52ef3e3dc898b8b0629 */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
