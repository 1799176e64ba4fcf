/* sources sha256 add5d3b73f4cccd4bf63754ebcd2bf527ecea02f72ea03f2eb83ab175d5c3ba3 */
function m(r,i){let t=r.map((e,n)=>n).filter(e=>r[e].kind==="number"),o=t.filter(e=>i.some(n=>n.intervals[e]));return o.length>0?o:t.filter(e=>e>0).slice(-1)}export{m as a};
