import { byId, element, byIdAndType } from './elements.js'
import { fetchJson, showOrExplain } from './fetch-json.js'
import { reportView } from './playground-report.js'

const fileField = byIdAndType('playground-file', HTMLSelectElement)
const textField = byIdAndType('playground-text', HTMLTextAreaElement)
const callerField = byIdAndType('playground-caller', HTMLInputElement)
const groupsField = byIdAndType('playground-groups', HTMLInputElement)
const operationField = byIdAndType('playground-operation', HTMLInputElement)
const idField = byIdAndType('playground-id', HTMLInputElement)
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
`

export function openPlayground() {
  textField.value = newPolicy
  void showOrExplain(result, listFiles)
  fileField.addEventListener('change', () => void showOrExplain(result, openFile))
  byId('playground-form').addEventListener('submit', (event) => {
    event.preventDefault()
    button.disabled = true
    void showOrExplain(result, tryText).finally(() => (button.disabled = false))
  })
}

async function listFiles() {
  const { files } = await fetchJson('policy-files', {})
  fileField.append(...files.map((/** @type {string} */ name) => element('option', { value: name }, name)))
  return []
}

async function openFile() {
  const { value: file } = fileField
  textField.value = file === '' ? newPolicy : (await fetchJson('policy-file', { file })).text
  return []
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
