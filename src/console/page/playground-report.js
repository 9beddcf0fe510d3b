import { details, element, quoted } from './elements.js'

/** @typedef {ReturnType<typeof import('../playground/playground-report.ts').createPlaygroundReport>} PlaygroundReport */
/** @typedef {NonNullable<PlaygroundReport['outcome']>} Outcome */

/**
 * @param {PlaygroundReport} report
 * @param {(line: number) => void} selectLine
 */
export function reportView({ findings, outcome }, selectLine) {
  return [
    ...findingsView(findings, selectLine),
    ...(outcome === undefined
      ? []
      : [...testsView(outcome.tests, selectLine), ...answersView(outcome.answers)]),
  ]
}

/**
 * @param {number} line
 * @param {number | undefined} column
 * @param {(line: number) => void} selectLine
 */
function lineButton(line, column, selectLine) {
  const button = element(
    'button',
    { type: 'button' },
    column === undefined ? String(line) : `${line}:${column}`,
  )
  button.addEventListener('click', () => selectLine(line))
  return button
}

/**
 * @param {PlaygroundReport['findings']} findings
 * @param {(line: number) => void} selectLine
 */
function findingsView(findings, selectLine) {
  const title = element('h3', {}, 'Findings in the text')
  if (findings.length === 0) return [title, element('p', { class: 'good' }, 'no errors and no warnings')]
  const items = findings.map(({ level, check, line, column = 1, message }) => {
    const position = lineButton(line, column, selectLine)
    const kind = element('span', { class: level === 'error' ? 'bad' : undefined }, `${level} ${check}`)
    return element('li', {}, element('p', {}, position, kind, quoted(message)))
  })
  return [title, element('ul', { class: 'feed' }, ...items)]
}

/**
 * @param {Outcome['tests']} tests
 * @param {(line: number) => void} selectLine
 */
function testsView({ count, failures, failed }, selectLine) {
  const text = count === 0 ? 'the text has no tests' : `${count - failures} of ${count} passed`
  const items = failed.map((test) =>
    element(
      'li',
      {},
      element(
        'p',
        {},
        lineButton(test.line, undefined, selectLine),
        element('span', { class: 'bad' }, 'failed'),
        test.name,
      ),
      element('pre', {}, test.text),
    ),
  )
  return [
    element('h3', {}, 'Tests in the text'),
    element('p', { class: failures > 0 ? 'bad' : count > 0 ? 'good' : 'quiet' }, text),
    element('ul', { class: 'feed' }, ...items),
  ]
}

/** @param {Outcome['answers']} answers */
function answersView(answers) {
  const items = answers.map(({ title, before, after, explanation }) =>
    element(
      'li',
      {},
      element(
        'p',
        {},
        element('strong', { class: after ? 'good' : 'bad' }, outcomeText(after)),
        quoted(title),
        element('span', {}, before === after ? 'as in force' : `in force: ${outcomeText(before)}`),
      ),
      details('why', element('pre', {}, explanation)),
    ),
  )
  return items.length === 0
    ? []
    : [element('h3', {}, 'Decisions'), element('ul', { class: 'feed' }, ...items)]
}

/** @param {boolean} isAllowed */
function outcomeText(isAllowed) {
  return isAllowed ? 'allowed' : 'denied'
}
