/** Light or dark: as JupyterLab's theme is, elsewhere as the system asks; followed while the viewer is there. Colors are CSS variables, so nothing is
 * drawn again. Returns how to stop. */
export function followTheme(root: HTMLElement): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const apply = (): void => {
    const lab = document.body.dataset.jpThemeLight;
    root.toggleAttribute('data-dark', lab !== undefined ? lab === 'false' : system.matches);
  };
  apply();
  const observer = new MutationObserver(apply);
  observer.observe(document.body, { attributes: true, attributeFilter: ['data-jp-theme-light'] });
  system.addEventListener('change', apply);
  return () => { observer.disconnect(); system.removeEventListener('change', apply); };
}
