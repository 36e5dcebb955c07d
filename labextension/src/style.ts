/** The look: tokens and rules of the viewer, light and dark. */
const LIGHT = `--canvas:#fff;--chrome:#f6f8fa;--line:#d5dbe1;--soft:#e9edf1;--text:#1f2328;--muted:#57606a;--faint:#8b949e;--edge:#7a8591;--now:#fff2b8;--bar:#a27700;--focus:#0b62c4;
--primal:#1f5fc9;--primal-f:#edf3fd;--forward:#066b62;--forward-f:#e6f4f2;--back:#a63c00;--back-f:#fdf0e7;--sens:#b02a80;--sens-f:#fcebf5;--on-sens:#fff;--const:#57606a;--const-f:#f6f7f8;
--free:#6f6100;--free-f:#fbf7df;--control:#30363d;--control-f:#eef0f2;--rem:#bf1b2c;--rem-f:#fdeced;--add:#17743a;--add-f:#e7f6ec;`;
const DARK = `--canvas:#111315;--chrome:#1a1d21;--line:#363c44;--soft:#262b31;--text:#e6e9ed;--muted:#a3adb8;--faint:#737d88;--edge:#87929e;--now:#3b3110;--bar:#e3b341;--focus:#6cb6ff;
--primal:#84b6fb;--primal-f:#17253a;--forward:#7de3da;--forward-f:#10302d;--back:#f98f5d;--back-f:#38200f;--sens:#fb8fd6;--sens-f:#3a1a30;--on-sens:#210a1a;--const:#a3adb8;--const-f:#1d2125;
--free:#e8d352;--free-f:#2e2a10;--control:#d3d9e1;--control-f:#292e34;--rem:#ff8580;--rem-f:#3a191b;--add:#62d884;--add-f:#12301c;`;

export const STYLE = `
.my{${LIGHT}--u:1px;--mono:var(--jp-code-font-family,Menlo,Consolas,"DejaVu Sans Mono",monospace);--ui:var(--jp-ui-font-family,system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif);
container-type:inline-size;color:var(--text);background:var(--canvas);border:1px solid var(--line);border-radius:6px;font:calc(12.5*var(--u))/1.4 var(--ui);font-variant-numeric:tabular-nums;overflow:hidden;display:flex;flex-direction:column;position:relative}
.my[data-dark]{${DARK}}
.my *{box-sizing:border-box}.my [hidden]{display:none!important}
.my button{font:inherit;color:inherit;background:none;border:0;cursor:pointer;border-radius:5px}
.my :focus-visible{outline:2px solid var(--focus);outline-offset:2px}.my:focus-visible{outline:2px solid var(--focus);outline-offset:-1px}.my:focus:not(:focus-visible){outline:none}
.my-rail{display:flex;flex-wrap:nowrap;align-items:stretch;min-height:calc(44*var(--u));background:var(--chrome);border-bottom:1px solid var(--line);padding:0 6px}
.my-stage{display:flex;flex-direction:column;justify-content:center;text-align:left;padding:4px 10px;position:relative;line-height:1.25}
.my-stage b{font-weight:500}.my-stage small{color:var(--muted);font-size:calc(11*var(--u));white-space:nowrap}
.my-stage[aria-selected=true] b{font-weight:650;color:var(--primal)}
.my-stage[aria-selected=true]::after{content:"";position:absolute;left:8px;right:8px;bottom:-1px;height:3px;background:var(--primal);border-radius:2px 2px 0 0}
.my-stage[data-error] b,.my-stage[data-error] small{color:var(--rem)}.my-stage[data-error][aria-selected=true]::after{background:var(--rem)}
.my-stages{display:flex;align-items:stretch;min-width:0;overflow-x:auto;scrollbar-width:none}.my-stage{flex:none}.my-menu,.my-other{height:calc(28*var(--u));font:inherit;color:var(--text);background:var(--canvas);border:1px solid var(--line);border-radius:5px;padding:0 4px}.my-menu{display:none;align-self:center;min-width:0;flex:0 1 auto}
.my-sep{align-self:center;color:var(--faint)}
.my-space{flex:1}
.my-tools{display:flex;align-items:center;gap:2px;flex:none}.my-searchbox{position:relative}.my-hits{position:absolute;right:7px;top:0;line-height:calc(28*var(--u));font-size:calc(11*var(--u));color:var(--muted);pointer-events:none}
.my-ib{width:calc(28*var(--u));height:calc(28*var(--u));display:grid;place-items:center;color:var(--muted)}
.my-ib:hover,.my-tab:hover{background:var(--soft)}
.my-ib svg{width:calc(16*var(--u));height:calc(16*var(--u));fill:none;stroke:currentColor;stroke-width:1.6;stroke-linecap:round;stroke-linejoin:round}
.my-search{height:calc(28*var(--u));border:1px solid var(--line);border-radius:5px;background:var(--canvas);color:var(--text);padding:0 8px;width:calc(126*var(--u));font:inherit}.my-search:focus{width:calc(170*var(--u));padding-right:calc(54*var(--u))}
.my-player{display:flex;align-items:center;gap:4px;min-height:calc(42*var(--u));border-bottom:1px solid var(--line);padding:0 10px}
.my-player[hidden]{display:none}
.my-play{background:var(--text)!important;color:var(--canvas)!important;border-radius:50%!important;margin:0 4px}
.my-track{flex:1;min-width:60px;position:relative;height:calc(28*var(--u));display:flex;align-items:center}
.my-slider{width:100%;margin:0;accent-color:var(--text);position:relative;z-index:1}
.my-ticks{position:absolute;left:8px;right:8px;bottom:0;height:5px;pointer-events:none}.my-ticks i{position:absolute;width:4px;height:4px;margin-left:-2px;border-radius:50%;background:var(--canvas);border:1px solid var(--edge)}
.my-ticks i[data-done]{background:var(--edge)}.my-ticks .my-tick-forward{border-color:var(--forward)}.my-ticks .my-tick-forward[data-done]{background:var(--forward)}.my-ticks .my-tick-backward,.my-ticks .my-tick-seed{border-color:var(--sens)}.my-ticks .my-tick-backward[data-done],.my-ticks .my-tick-seed[data-done]{background:var(--sens)}
.my-pos{white-space:nowrap;min-width:calc(76*var(--u));text-align:right}.my-pos b{font-weight:650}
.my-speed{border:1px solid var(--line)!important;padding:2px 7px!important;color:var(--muted)!important}
.my-band{display:flex;gap:8px 24px;align-items:center;min-height:calc(92*var(--u));border-bottom:1px solid var(--line);padding:8px 16px;flex-wrap:wrap;flex:none;max-height:60%;overflow:auto}
.my-band[hidden]{display:none}
.my-say{flex:0 1 calc(260*var(--u));min-width:calc(180*var(--u))}.my-say b{display:block;font-weight:650;margin-bottom:2px}.my-say span{color:var(--muted)}
.my-choices{display:flex;margin-top:4px}.my-choices:empty{display:none}.my-choice{border:1px solid var(--line)!important;border-radius:0!important;padding:1px 8px!important;margin-left:-1px;font-size:calc(11.5*var(--u))!important;color:var(--muted)!important;min-height:calc(22*var(--u))}.my-choice:first-child{border-radius:5px 0 0 5px!important;margin-left:0}.my-choice:last-child{border-radius:0 5px 5px 0!important}.my-choice[aria-pressed=true]{background:var(--primal-f)!important;color:var(--primal)!important;font-weight:600}
.my-say code{display:block;font:calc(11.5*var(--u)) var(--mono);color:var(--muted)}
.my-eq{flex:1 1 calc(240*var(--u));display:flex;flex-wrap:wrap;gap:2px 34px;justify-content:center;overflow-x:auto;overflow-y:hidden;padding:2px 0 6px;font-size:calc(25*var(--u))}
.my-rule{display:flex;gap:14px;align-items:center;font-size:calc(21*var(--u));white-space:nowrap}.my-rule span{color:var(--muted)}.my-rule .my-role-primal{color:inherit}.my-band:has(.my-rule) .my-eq{flex:0 1 auto}.my-change{flex:1 1 calc(300*var(--u));min-width:0;font:calc(12*var(--u))/1.5 var(--mono);max-height:calc(140*var(--u));overflow:auto}.my-change div{padding:0 8px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}.my-change .my-gone{background:var(--rem-f);color:var(--rem);}.my-change b{font-weight:400}.my-change .my-gone b{text-decoration:line-through}.my-change .my-come{background:var(--add-f);color:var(--add)}
.my-withloop .my-eq{font-size:calc(22*var(--u))}
.my-loop{flex:1 0 100%;display:flex;gap:8px;min-width:0}.my-loophead,.my-loopcol{display:grid;grid-template-rows:calc(18*var(--u)) calc(24*var(--u)) calc(24*var(--u));gap:3px;align-items:center}
.my-loophead{text-align:right;font:calc(11.5*var(--u)) var(--mono);color:var(--muted);white-space:nowrap}.my-loopcols{display:flex;gap:5px;flex:1;min-width:0;overflow-x:auto;align-items:stretch;padding:0 2px}
.my-loopcol{flex:1 0 calc(64*var(--u));max-width:calc(150*var(--u));padding:0 2px!important}.my-loopcol[aria-current]{background:var(--now)!important}.my-loopno{font-size:calc(11.5*var(--u));color:var(--muted);text-align:center}.my-loopcol[aria-current] .my-loopno{font-weight:650;color:var(--text)}
.my-cell{border:1.5px solid var(--forward);background:var(--canvas);border-radius:5px;text-align:center;font:calc(12*var(--u))/calc(21*var(--u)) var(--mono);height:calc(24*var(--u));overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding:0 4px}.my-cell.my-sens{border-color:var(--sens)}
.my-notyet{border:1px dashed var(--faint)!important;color:var(--muted);font-family:var(--ui)}.my-loopmore{align-self:center;color:var(--muted);white-space:nowrap}
.my math{font-family:"STIX Two Math","Cambria Math","Latin Modern Math","DejaVu Math TeX Gyre",math}
.my-under{font:calc(11*var(--u)) var(--mono);color:var(--muted)}
.my-role-sensitivity{color:var(--sens)}.my-role-primal{color:var(--primal)}.my-role-forward{color:var(--forward)}
.my-body{display:flex;min-height:0;flex:1}
.my-graphs{flex:1;min-width:0;min-height:0;display:flex;position:relative}.my-otherpane{flex:1;min-width:0;display:flex;flex-direction:column;border-right:1px solid var(--line)}.my-otherpane .my-other{align-self:flex-start;margin:6px 8px}.my-ties{position:absolute;inset:0;width:100%;height:100%;pointer-events:none;z-index:3}.my-ties path{fill:none;stroke:var(--bar);stroke-width:1.6;stroke-dasharray:1.5 4;stroke-linecap:round}
.my-presented{display:none}.my-offstage{position:absolute;left:-9999px;top:0;visibility:hidden}
.my-graph{position:relative;flex:1;min-width:0;overflow:hidden;touch-action:none;cursor:grab;background:var(--canvas)}
.my-graph:active{cursor:grabbing}
.my-graph>svg{position:absolute;left:0;top:0;transform-origin:0 0;overflow:visible}
.my-moving>svg{will-change:transform}
.my-zoom{position:absolute;right:8px;top:8px;display:flex;flex-direction:column;background:var(--canvas);border:1px solid var(--line);border-radius:6px}
.my-note{position:absolute;left:10px;bottom:8px;color:var(--muted);background:var(--canvas);padding:1px 6px;border-radius:4px}
.my-note[hidden],.my-wait[hidden],.my-map[hidden]{display:none}
.my-wait{position:absolute;inset:0;display:flex;gap:10px;align-items:center;justify-content:center;color:var(--muted);background:color-mix(in srgb,var(--canvas) 70%,transparent);z-index:2}.my-wait .my-tab{border:1px solid var(--line)!important;color:var(--text)!important}
.my-map{position:absolute;right:8px;bottom:8px;padding:4px;background:var(--canvas);border:1px solid var(--line);border-radius:6px;cursor:crosshair;line-height:0;touch-action:none}
.my-mapleft{right:auto;left:8px}.my-mapleft~.my-note,.my-graph:has(>.my-mapleft) .my-note{left:auto;right:10px}
.my-map .block{fill:var(--c-f);stroke:var(--c);stroke-opacity:.4}.my-map .dot{fill:var(--c);stroke:none}.my-map .view{fill:none;stroke:var(--focus);vector-effect:none}.my-map .found{fill:none;stroke:var(--bar)}
.my-side{width:calc(330*var(--u));border-left:1px solid var(--line);display:flex;flex-direction:column;min-height:0}
.my-tabs{display:flex;gap:2px;border-bottom:1px solid var(--soft);padding:4px 8px}
.my-tab{padding:3px 8px!important;color:var(--muted)!important}.my-tab[aria-selected=true]{color:var(--text)!important;font-weight:650}
.my-pane{overflow:auto;flex:1;min-height:0}
.my-steps{display:flex;flex-direction:column}.my-filterbar{position:sticky;top:0;z-index:1;background:var(--canvas);display:flex;gap:8px;align-items:center;padding:6px 10px;border-bottom:1px solid var(--soft)}.my-filter{flex:1;min-width:0;height:calc(26*var(--u));border:1px solid var(--line);border-radius:5px;background:var(--canvas);color:var(--text);padding:0 8px;font:inherit}.my-count{color:var(--muted);white-space:nowrap;font-size:calc(11*var(--u))}
.my[data-predict] .my-list li[data-todo],.my[data-predict] .my-stage[data-stage=run] small{display:none}
.my-link{color:var(--focus)!important;font-weight:600!important;padding:0 4px!important}.my-none,.my-more{color:var(--muted)}
.my-pane{position:relative}
.my-list{list-style:none;margin:0;padding:0}
.my-list li{padding:5px 12px 5px 36px;position:relative;cursor:pointer;border-left:3px solid transparent}
.my-list li[data-now]{background:var(--now);border-left-color:var(--bar)}
.my-list li:hover:not([data-now]){background:var(--chrome)}
.my-list li i{position:absolute;left:8px;font-style:normal;color:var(--muted);font-size:calc(11*var(--u));top:7px}
.my-list li[data-todo]{color:var(--muted)}
.my-list li.my-head{padding:0;border:0;cursor:default;background:none}.my-list h4{margin:0;padding:7px 12px;font-weight:600;display:flex;justify-content:space-between;background:var(--chrome);border-bottom:1px solid var(--soft)}
.my-list h4 span{color:var(--muted);font-weight:400}
.my-list .my-delta{float:right;font:calc(11.5*var(--u)) var(--mono)}.my-minus{color:var(--rem)}.my-plus{color:var(--add)}
.my-list li>div{overflow-x:auto;overflow-y:hidden;scrollbar-width:none}.my-list math{font-size:calc(16*var(--u))}
.my-code{font:calc(12*var(--u))/1.55 var(--mono);margin:0;padding:8px 0;white-space:pre;min-width:max-content}
.my-code div{padding:0 12px 0 0}.my-code div span.my-ln{display:inline-block;width:34px;color:var(--muted);text-align:right;margin-right:12px;user-select:none}
.my-code div[data-lit]{background:var(--now)}
.my-code mark{background:var(--now);color:inherit;box-shadow:inset 0 -2px 0 var(--bar)}
.my-props{display:grid;grid-template-columns:max-content 1fr;gap:4px 12px;padding:12px;margin:0}.my-props dt{color:var(--muted)}.my-props .my-link{font-family:var(--mono);margin-right:4px;padding:1px 3px!important;text-align:left}.my-plainlink{margin-right:8px;color:var(--muted)}.my-props dd{margin:0;font-family:var(--mono);overflow-wrap:anywhere}
.my-inputs{padding:10px 14px 14px;display:flex;flex-direction:column;gap:10px}.my-controls{display:grid;grid-template-columns:max-content 1fr calc(84*var(--u));gap:6px 10px;align-items:center}.my-inputname{font:600 calc(13*var(--u)) var(--mono)!important;color:var(--primal)!important;padding:2px 4px!important;text-align:left}.my-inputname[aria-pressed=true]{box-shadow:inset 0 -2px 0 var(--primal);border-radius:0!important}.my-inputname:disabled{cursor:default}
.my-inputslider{width:100%;min-width:0;margin:0;accent-color:var(--primal)}.my-inputbox{width:100%;min-width:0;height:calc(28*var(--u));font:calc(12.5*var(--u)) var(--mono);color:var(--text);background:var(--canvas);border:1px solid var(--line);border-radius:5px;padding:0 7px}.my-inputbox[type=checkbox]{width:calc(18*var(--u));height:calc(18*var(--u));justify-self:start;accent-color:var(--primal)}.my-inputbox[aria-invalid=true]{border-color:var(--rem);background:var(--rem-f)}.my-inputbox:disabled{color:var(--text);background:var(--chrome);opacity:1}
.my-inputtext{font:calc(12*var(--u)) var(--mono);overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.my-inputnote{margin:0;color:var(--muted)}
.my-plot{width:100%;max-width:calc(460*var(--u));height:auto;touch-action:none;--u:1px}.my-inputs[data-alive] .my-plot{cursor:ew-resize}.my-plot text{font:10.5px var(--mono);fill:var(--muted)}.my-plot .title{font-size:11px;font-weight:600}.my-plot .title.f{fill:var(--primal)}.my-plot .title.d{fill:var(--sens)}.my-plot .now{fill:var(--text);font-weight:600;font-size:11px}
.my-plot .frame{fill:var(--chrome);stroke:var(--soft)}.my-plot .zero{stroke:var(--line);stroke-width:1}.my-plot .here{stroke:var(--bar);stroke-width:1;stroke-dasharray:1.5 3}.my-plot .curve{fill:none;stroke-width:2;stroke-linejoin:round}.my-plot .curve.f{stroke:var(--primal)}.my-plot .curve.d{stroke:var(--sens)}.my-plot .tangent{stroke:var(--bar);stroke-width:2}.my-plot .point{stroke:var(--canvas);stroke-width:1.5}.my-plot .point.f{fill:var(--primal)}.my-plot .point.d{fill:var(--sens)}
.my-outcome{display:flex;gap:10px;align-items:baseline;border-top:1px solid var(--soft);padding-top:8px;color:var(--muted)}.my-outcome b{font-family:var(--mono);color:var(--text);overflow-wrap:anywhere}.my-outcome .my-failed{color:var(--rem);font-weight:500}
.my-way{list-style:none;margin:0;padding:0;display:grid;gap:2px}.my-way li{display:grid;grid-template-columns:minmax(0,max-content) 1fr max-content;gap:10px;padding:2px 6px;border-left:3px solid transparent;color:var(--muted)}.my-way code{font-family:var(--mono);color:var(--text);overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.my-way b{font-weight:600;color:var(--text)}.my-way li[data-none] b{font-weight:400;color:var(--muted)}.my-way li[data-changed]{background:var(--now);border-left-color:var(--bar)}
.my-error{margin:16px;padding:12px 14px;border:1px solid var(--rem);border-radius:6px;background:var(--rem-f)}
.my-error b{color:var(--rem)}.my-error pre{font:calc(12.5*var(--u))/1.5 var(--mono);margin:8px 0 4px;overflow:auto}.my-error p{margin:4px 0 0}
.my-legend{display:flex;flex-wrap:wrap;gap:4px 16px;border-top:1px solid var(--line);background:var(--chrome);padding:6px 12px;color:var(--muted);align-items:center;min-height:calc(36*var(--u))}
.my-legend span{display:inline-flex;align-items:center;gap:6px}.my-legend svg{width:calc(30*var(--u));height:calc(16*var(--u))}
.my-help{position:absolute;inset:calc(44*var(--u)) 0 0 0;background:var(--canvas);z-index:5;padding:14px 22px;overflow:auto}.my-shut{position:absolute;right:14px;top:12px;border:1px solid var(--line)!important}
.my-helpcols{display:flex;flex-wrap:wrap;gap:8px 48px}.my-helpcols>div{flex:1 1 calc(300*var(--u))}.my-help h3{margin:0 0 8px}.my-figures{display:flex;flex-wrap:wrap;gap:8px 18px;margin-bottom:14px}.my-figures span{display:inline-flex;align-items:center;gap:6px}.my-figures svg{width:calc(34*var(--u));height:calc(18*var(--u))}
.my-terms{display:grid;grid-template-columns:max-content 1fr;gap:4px 14px;margin:0}.my-terms dt{font-weight:600}.my-terms dd{margin:0;color:var(--muted)}
.my-savemenu{position:absolute;right:10px;top:calc(44*var(--u));z-index:6;display:flex;background:var(--canvas);border:1px solid var(--line);border-radius:6px;padding:4px}.my-savemenu .my-tab{color:var(--text)!important}
.my-help table{border-collapse:collapse}.my-help td{padding:3px 18px 3px 0}.my-help kbd{font:calc(11*var(--u)) var(--mono);border:1px solid var(--line);border-bottom-width:2px;border-radius:4px;padding:0 5px}
.my[data-present]{--u:1.5px;border:0;border-radius:0;position:fixed;inset:0;width:100vw!important;height:100vh!important;z-index:10000;container-type:normal}
.my[data-present] .my-presented{display:block;width:26%;border-right:1px solid var(--line);overflow:auto;background:var(--chrome);flex:none}.my[data-present] .my-side{width:24%}.my[data-present] .my-presented .my-code{white-space:pre-wrap;min-width:0}.my[data-present] .my-presented .my-code div{padding-left:46px;text-indent:-46px}.my[data-present] .my-zoom{top:auto;bottom:8px;flex-direction:row;opacity:.7}.my[data-present] .my-presented .my-code>div>span{text-indent:0}.my[data-present] .my-player{order:5;border-top:1px solid var(--line);border-bottom:0}.my[data-present] .my-legend{order:6}
.my[data-present] .my-eq{font-size:calc(27*var(--u))}.my[data-present][data-compare] .my-side{display:none}
@media (max-width:1500px){.my[data-present] .my-searchbox,.my[data-present] .my-time{display:none}}
@container (max-width:1080px){.my-time{display:none}}
@container (max-width:980px){.my-side{width:calc(262*var(--u))}}
@container (max-width:820px){.my-search{width:86px}.my-search:focus{width:130px}.my-stage{padding:4px 6px}.my-sep,.my-stage small{display:none}}
@container (max-width:740px){.my-stages{display:none}.my-menu{display:block}}
@container (max-width:560px){.my-body{flex-direction:column}.my-side{width:auto;border-left:0;border-top:1px solid var(--line);max-height:190px}.my-graphs{min-height:220px}.my-say{flex-basis:100%}.my-speed,.my-searchbox{display:none}.my-band{padding:6px 10px;max-height:34%}.my-legend{max-height:52px;overflow:auto}}
.my-svg text{font-family:var(--mono);fill:var(--text)}
.my-svg .edge{fill:none;stroke:var(--edge);stroke-width:1.4}
.my-svg .edge.sensitivity{stroke:var(--sens);stroke-width:1.7}.my-svg .edge.free{stroke:var(--free);stroke-dasharray:5 3.5}.my-svg .edge.keeps{stroke:var(--back);stroke-dasharray:1.5 3.5;stroke-linecap:round;stroke-width:1.8}
.my-svg .edge.call{stroke:var(--control);stroke-width:1.8}
.my-svg .head{fill:var(--edge);stroke:none}.my-svg .head.sensitivity{fill:var(--sens)}.my-svg .head.free{fill:var(--free)}.my-svg .head.keeps{fill:var(--back)}.my-svg .head.call{fill:var(--control)}
.my-svg .cluster>rect{fill:var(--c-f);fill-opacity:.32;stroke:var(--c);stroke-opacity:.75;stroke-width:1.2}
.my[data-dark] .my-svg .cluster>rect{fill-opacity:.22}
.my-svg .cluster>text{font:650 12.5px var(--mono);fill:var(--c)}.my-svg .cluster>text tspan.q{font:400 12px var(--ui);fill:var(--muted)}
.my-svg .cluster{cursor:pointer}
.my-svg .node>.shape{fill:var(--c-f);stroke:var(--c);stroke-width:1.5}
.my-svg .mark{fill:var(--c)}.my-svg .node.quiet .mark{fill:var(--muted)}.my-svg .node.solid .mark{fill:var(--on-sens)}.my-svg .node.todo .mark{opacity:0}.my-svg .node.added .mark{fill:var(--add)}.my-svg .node.removed .mark{fill:var(--rem)}
.my-svg .node>.shape.foot{fill:var(--c)}
.my-svg .node .name{font-weight:650;font-size:13px;fill:var(--c)}.my-svg .node .name.text{font-weight:500}.my-svg .node .op{font-size:11px;fill:var(--muted)}.my-svg .node .second{font-size:11.5px}.my-svg .node .noted{font-size:10.5px;fill:var(--muted)}
.my-svg .r-primal{--c:var(--primal);--c-f:var(--primal-f)}.my-svg .r-forward{--c:var(--forward);--c-f:var(--forward-f)}.my-svg .r-backpropagator{--c:var(--back);--c-f:var(--back-f)}
.my-svg .r-sensitivity{--c:var(--sens);--c-f:var(--sens-f)}.my-svg .r-constant{--c:var(--const);--c-f:var(--const-f)}.my-svg .r-free{--c:var(--free);--c-f:var(--free-f)}.my-svg .r-control,.my-svg .r-return{--c:var(--control);--c-f:var(--control-f)}
.my-svg .node.r-free>.shape{stroke-dasharray:4 3}
.my-svg .node.solid>.shape{fill:var(--c)}.my-svg .node.solid text{fill:var(--on-sens)!important}
.my-svg .node.todo>.shape{fill:none;stroke:var(--faint);stroke-dasharray:1.5 3.5}.my-svg .node.todo text{opacity:0}.my-svg .edge.todo{stroke:var(--faint);stroke-dasharray:1.5 3.5;stroke-width:1}.my-svg .head.todo{fill:var(--faint)}
.my-svg .keptmark{display:none;fill:var(--back);stroke:var(--canvas);stroke-width:1.5}.my-svg .node.kept .keptmark{display:inline}
.my-svg .node.wait>.shape{fill:var(--canvas);stroke:var(--faint);stroke-dasharray:1.5 3.5}.my-svg .node.wait text{fill:var(--muted)}.my-svg .node.wait .mark{fill:var(--faint)}
.my-svg .edge.removed{stroke:var(--rem);stroke-dasharray:5 3}.my-svg .head.removed{fill:var(--rem)}.my-svg .edge.added{stroke:var(--add);stroke-width:2.2}.my-svg .head.added{fill:var(--add)}
.my-svg .fold{cursor:pointer}.my-svg .fold rect{fill:var(--canvas);stroke:var(--line);stroke-width:1}.my-svg .fold path{stroke:var(--muted);stroke-width:1.6;fill:none}.my-svg .fold:focus-visible{outline:none}.my-svg .fold:focus-visible rect{stroke:var(--focus);stroke-width:2.4}
.my-svg .node.removed>.shape{fill:var(--rem-f);stroke:var(--rem);stroke-dasharray:5 3}.my-svg .node.removed .name{fill:var(--rem);text-decoration:line-through}
.my-svg .node.added>.shape{fill:var(--add-f);stroke:var(--add);stroke-width:2.2}.my-svg .node.added .name{fill:var(--add)}
.my-svg .node.quiet>.shape{fill:var(--canvas);stroke:var(--line)}.my-svg .node.quiet text{fill:var(--muted)}
.my-svg .my-nowband{fill:var(--now);fill-opacity:.75}.my-svg .ring{fill:none;stroke:none}.my-svg .node.now>.ring{stroke:var(--bar);stroke-width:2.4}.my-svg .node.lit>.ring{stroke:var(--bar);stroke-width:2.4;stroke-dasharray:2 3}.my-svg .node:focus,.my-svg .fold:focus{outline:none}.my-svg .node:focus-visible>.ring{stroke:var(--focus);stroke-width:2.4}
.my-svg .node{cursor:pointer}
.my-svg .appear{animation:my-appear .18s ease-out}
@keyframes my-appear{from{opacity:0}to{opacity:1}}
@media (prefers-reduced-motion:reduce){.my *,.my{animation:none!important;transition:none!important;scroll-behavior:auto!important}}
`;
