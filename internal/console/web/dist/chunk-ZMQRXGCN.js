/* sources sha256 df84514b933e670c9d2f505d0c872decac22e97ab2af0d265fa21f825146f3e5 */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
