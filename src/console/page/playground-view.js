import { byId, byIdAndType, element, fetchJson, showOrExplain } from './elements.js'
import { reportView } from './playground-report.js'

const fileField = byIdAndType('playground-file', HTMLSelectElement)
const textField = byIdAndType('playground-text', HTMLTextAreaElement)
const lineNumbers = byId('playground-lines')
const form = byId('playground-form')
const button = byIdAndType('playground-try', HTMLButtonElement)
const result = byId('playground-report')

const newPolicy = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata:
  name: sales-readers
namespace: [prod, sales]
rules:
  - id: read
    effect: allow
    subjects: { users: [ada] }
    operations: [read]
tests:
  - name: readers read
    as: { user: ada }
    operations: [QueryTable]
    table: [prod, sales, orders]
    expect: allow
`

export function openPlayground() {
  textField.value = newPolicy
  numberLines()
  void showOrExplain(result, listFiles)
  textField.addEventListener('input', numberLines)
  textField.addEventListener('scroll', () => (lineNumbers.scrollTop = textField.scrollTop))
  form.addEventListener('click', ({ target }) => {
    if (!(target instanceof HTMLButtonElement)) return
    const fields = target.closest('fieldset')
    if (target.name === 'add') fields?.after(fields.cloneNode(true))
    if (target.name === 'remove' && listFieldsets().length > 1) fields?.remove()
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    button.disabled = true
    void showOrExplain(result, tryText).finally(() => (button.disabled = false))
  })
}

function numberLines() {
  lineNumbers.textContent = textField.value
    .replaceAll(/.*/g, '')
    .split('\n')
    .map((_, index) => index + 1)
    .join('\n')
}

function listFieldsets() {
  return [...form.querySelectorAll('fieldset')]
}

async function listFiles() {
  const { files } = await fetchJson('policy-files', {})
  fileField.append(...files.map((/** @type {string} */ name) => element('option', { value: name }, name)))
  return []
}

async function tryText() {
  const requests = listFieldsets().map((fieldset) => {
    const fields = [...fieldset.querySelectorAll('input')].map(({ value }) => value.trim())
    const [principal, groups = '', operation, id] = fields
    return { principal, groups: groups.match(/[^\s,]+/g) ?? [], operation, id: id || '/' }
  })
  const { value: file } = fileField
  const body = JSON.stringify({ text: textField.value, ...(file !== '' && { file }), requests })
  const headers = { 'content-type': 'application/json' }
  return reportView(await fetchJson('playground', {}, { method: 'POST', headers, body }), selectLine)
}

/** @param {number} line */
function selectLine(line) {
  const lines = textField.value.split('\n')
  const start = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0)
  textField.focus()
  textField.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0))
}
