/* sources sha256 1a3bc95b01521078639873265c2bd518f61f8ddfbfcbf398409f4bc5462e6611 */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
