/* sources sha256 bf00d7d4b8cd41cff323b348bf4d874f8edc622b11e98b65b4543072f7f7b346 */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
