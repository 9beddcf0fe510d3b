import { byId, byIdAndType, element } from './elements.js'
import { fetchJson } from './fetch-json.js'
import { reportView } from './playground-report.js'

const fileField = byIdAndType('playground-file', HTMLSelectElement)
const textField = byIdAndType('playground-text', HTMLTextAreaElement)
const callerField = byIdAndType('playground-caller', HTMLInputElement)
const groupsField = byIdAndType('playground-groups', HTMLInputElement)
const operationField = byIdAndType('playground-operation', HTMLInputElement)
const idField = byIdAndType('playground-id', HTMLInputElement)
const button = byIdAndType('playground-try', HTMLButtonElement)

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
`

export async function openPlayground() {
  textField.value = newPolicy
  fileField.addEventListener('change', () => void openFile())
  byId('playground-form').addEventListener('submit', (event) => {
    event.preventDefault()
    void tryText()
  })
  const { files } = await fetchJson('policy-files', {})
  fileField.append(...files.map((/** @type {string} */ name) => element('option', { value: name }, name)))
}

async function openFile() {
  const { value: file } = fileField
  if (file === '') {
    textField.value = newPolicy
    return
  }
  try {
    textField.value = (await fetchJson('policy-file', { file })).text
  } catch (error) {
    showError(error)
  }
}

async function tryText() {
  const groups = groupsField.value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  const question = {
    principal: callerField.value.trim(),
    groups,
    operation: operationField.value.trim(),
    id: idField.value.trim() || '/',
  }
  const { value: file } = fileField
  const body = JSON.stringify({ text: textField.value, ...(file !== '' && { file }), question })
  button.disabled = true
  try {
    const headers = { 'content-type': 'application/json' }
    const report = await fetchJson('playground', {}, { method: 'POST', headers, body })
    byId('playground-report').replaceChildren(...reportView(report, selectLine))
  } catch (error) {
    showError(error)
  } finally {
    button.disabled = false
  }
}

/** @param {unknown} error */
function showError(error) {
  const text = error instanceof Error ? error.message : String(error)
  byId('playground-report').replaceChildren(element('p', { class: 'bad' }, text))
}

/** @param {number} line */
function selectLine(line) {
  const lines = textField.value.split('\n')
  const start = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0)
  textField.focus()
  textField.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0))
}
