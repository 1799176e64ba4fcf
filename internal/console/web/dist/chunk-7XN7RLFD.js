/* sources sha256 c1e589f509cebf3734bff975d34ed6cda4655a0f5818e459150e09c68778ea6a */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
