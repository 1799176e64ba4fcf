/* sources sha256 3963950b9180f1122552a995245d2edcc18dd909a7b662f97a9543b7e286c711 */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
