import { byId, byIdAndType, details, element, fetchJson, quoted, showOrExplain } from './elements.js'

/** @typedef {ReturnType<typeof import('../access-report.ts').createAccessReport>} AccessReport */

const idField = byIdAndType('access-id', HTMLInputElement)
const kindField = byIdAndType('access-kind', HTMLSelectElement)
const entitlements = byId('entitlements')

export function openAccessView() {
  byId('access-form').addEventListener('submit', (event) => {
    event.preventDefault()
    showAccess()
  })
  showAccess()
}

/** Shows the access again after a change of the policies, and suggests their namespaces. */
export function showAccess() {
  const object = { id: idField.value.trim() || '/', kind: kindField.value }
  void showOrExplain(entitlements, async () => {
    /** @type {AccessReport} */
    const report = await fetchJson('access', object)
    byId('namespaces').replaceChildren(...report.namespaces.map((value) => element('option', { value })))
    return reportView(report)
  })
}

/** @param {AccessReport} report */
function reportView({ id, callers, forTables }) {
  const title = element('h3', {}, 'On ', quoted(id))
  const shown = callers.map(({ name, grants }) =>
    element('li', {}, details(name, element('pre', {}, grants))),
  )
  const rules = element('ul', {}, ...forTables.map((text) => element('li', {}, quoted(text))))
  return [
    title,
    callers.length === 0
      ? element('p', {}, 'Nobody is allowed anything here.')
      : element('ul', { class: 'feed', tabindex: '0', 'aria-label': 'Callers' }, ...shown),
    ...(forTables.length === 0 ? [] : [element('h3', {}, 'Rules for tables by their names'), rules]),
  ]
}
