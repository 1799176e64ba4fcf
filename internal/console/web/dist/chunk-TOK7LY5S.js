/* sources sha256 f3c051cd156f541ea7d6f9c641114140b5693924b9fd794ba9c95fa41a63133e */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
