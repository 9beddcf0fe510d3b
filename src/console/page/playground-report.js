import { element, quoted, table } from './elements.js'
import { formatId, formatNumber, ruleText } from './format.js'
import { restrictionView } from './restriction-view.js'

/** @typedef {Awaited<ReturnType<typeof import('../playground/playground-report.ts').createPlaygroundReport>>} PlaygroundReport */
/** @typedef {NonNullable<PlaygroundReport['outcome']>} Outcome */

/** @type {Readonly<Record<NonNullable<Outcome['answer']>['rules'][number]['verdict'], string>>} */
const verdicts = {
  allows: 'applies',
  denies: 'applies',
  'other-caller': 'is for other callers',
  'other-table': 'is for other tables',
  stopped: 'is not inherited here',
  reserved: 'is reserved above',
  false: 'does not apply: its condition is false',
  open: 'its condition depends on what is not stated here',
  failed: 'its condition fails: facts are not stated here, but with policy explain',
}

/**
 * @param {PlaygroundReport} report
 * @param {(line: number) => void} selectLine
 */
export function reportView({ findings, outcome }, selectLine) {
  return [
    ...findingsView(findings, selectLine),
    ...(outcome === undefined ? [] : [...answerView(outcome.answer), ...replayView(outcome.replay)]),
  ]
}

/**
 * @param {PlaygroundReport['findings']} findings
 * @param {(line: number) => void} selectLine
 */
function findingsView(findings, selectLine) {
  const title = element('h3', {}, 'Findings in the text')
  if (findings.length === 0) return [title, element('p', { class: 'good' }, 'no errors and no warnings')]
  const items = findings.map(({ level, check, line, column = 1, message }) => {
    const position = element('button', { type: 'button' }, `${line}:${column}`)
    position.addEventListener('click', () => selectLine(line))
    const kind = element('span', { class: level === 'error' ? 'bad' : undefined }, `${level} ${check}`)
    return element('li', {}, element('p', {}, position, kind, quoted(message)))
  })
  return [title, element('ul', { class: 'feed' }, ...items)]
}

/** @param {Outcome['answer']} answer */
function answerView(answer) {
  if (answer === undefined) return []
  const { before, after, rule, isByVisibility, restrictedBy, rules } = answer
  const visible = isByVisibility ? ', with what is visible beneath,' : ''
  const by = rule === undefined ? ', as no rule allows it' : `${visible} by ${ruleText(rule)}`
  const decision = element('strong', { class: after ? 'good' : 'bad' }, after ? 'allowed' : 'denied')
  const text =
    before === after ? `${by}, as with the policies in force` : `${by}; in force: ${outcomeText(before)}`
  const rows = rules.map((one) => [quoted(ruleText(one)), one.effect, verdicts[one.verdict]])
  return [
    element('h3', {}, 'Decision'),
    element('p', {}, decision, text),
    ...restrictedBy.map(restrictionView),
    ...(rows.length === 0
      ? []
      : [table('Rules about the operation', ['Rule about the operation', 'Effect', 'Here'], rows)]),
  ]
}

/** @param {Outcome['replay']} replay */
function replayView({ calls, unchanged, changed, undecided, restricted }) {
  const title = element('h3', {}, 'Calls of the last hour')
  const counts = [
    `${formatNumber(calls)} calls in the newest 32 MiB of the audit log`,
    `${formatNumber(unchanged)} would be decided as they were`,
    `${formatNumber(calls - unchanged - undecided)} otherwise`,
    `${formatNumber(undecided)} depend on what the log does not contain`,
    ...(restricted === 0 ? [] : [`${formatNumber(restricted)} would read another part of their table`]),
  ]
  const summary = element('p', {}, counts.join(', '))
  if (changed.length === 0) return [title, summary]
  const titles = ['Operation', 'Caller', 'Calls', 'Then', 'With the text', 'For example']
  const rows = changed.map((calls) => {
    const { after } = calls
    const by = after?.rule === undefined ? '' : ` by ${ruleText(after.rule)}`
    return [
      calls.operation,
      quoted(calls.principal),
      formatNumber(calls.count),
      outcomeText(calls.before.allowed),
      element('span', { class: after?.allowed ? 'good' : 'bad' }, outcomeText(after?.allowed === true), by),
      quoted(formatId(calls.example.id)),
    ]
  })
  return [title, summary, table('Calls that would be decided otherwise', titles, rows)]
}

/** @param {boolean} isAllowed */
function outcomeText(isAllowed) {
  return isAllowed ? 'allowed' : 'denied'
}
