import { byId, byIdAndType, element, quoted, table } from './elements.js'
import { fetchJson, showOrExplain } from './fetch-json.js'

/** @typedef {ReturnType<typeof import('../access-texts.ts').formatAccessReport>} AccessReport */

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
    /** @type {{ readonly namespaces: readonly string[] }} */
    const { namespaces } = await fetchJson('namespaces', {})
    byId('namespaces').replaceChildren(...namespaces.map((value) => element('option', { value })))
    return reportView(await fetchJson('access', object))
  })
}

/** @param {AccessReport} report */
function reportView({ id, titles, callers, forTables }) {
  const title = element('h3', {}, 'On ', quoted(id))
  const rules = element('ul', {}, ...forTables.map((text) => element('li', {}, quoted(text))))
  const ofTables = forTables.length === 0 ? [] : [element('h3', {}, 'Rules for tables by their names'), rules]
  if (callers.length === 0) return [title, element('p', {}, 'Nobody is allowed anything here.'), ...ofTables]
  const detail = element('div', {})
  const rows = callers.map((caller) => [callerButton(caller, detail), ...caller.cells])
  const note =
    'What somebody may do who is the caller and nothing else: the number of operations of the group; “if” depends on a condition; “not” names callers that are denied. Select a caller for the rules.'
  return [
    title,
    table('Callers by operations', titles, rows),
    element('p', { class: 'quiet' }, note),
    detail,
    ...ofTables,
  ]
}

/**
 * @param {AccessReport['callers'][number]} caller
 * @param {Element} detail
 */
function callerButton({ name, grants }, detail) {
  const button = element('button', { type: 'button', 'aria-pressed': 'false' }, quoted(name))
  button.addEventListener('click', () => {
    const isOpen = button.getAttribute('aria-pressed') === 'true'
    for (const other of entitlements.querySelectorAll('[aria-pressed]'))
      other.setAttribute('aria-pressed', 'false')
    button.setAttribute('aria-pressed', String(!isOpen))
    const title = element('h3', {}, 'What ', quoted(name), ' may do here')
    detail.replaceChildren(...(isOpen ? [] : [title, element('pre', {}, grants)]))
  })
  return button
}
