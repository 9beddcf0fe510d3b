import { commandView } from './commands.js'
import { element, facts } from './elements.js'
import { quoteForShell, quoted } from './format.js'

/** @typedef {NonNullable<import('../console-state.ts').RefusedRequest['denial']>} Denial */

/**
 * Unfolds to the rule that denied a request, and the command that explains it.
 * @param {Denial} denial
 * @param {string | undefined} principal
 */
export function denialView(denial, principal) {
  const { permission, id, rule } = denial
  const command = explainCommand(denial, principal)
  /** @type {readonly (readonly [string, Node | string])[]} */
  const entries = [
    ['Needs', element('span', {}, permission, ' on ', quoted(id))],
    ['Denied by', rule === undefined ? 'no rule allows it' : quoted(ruleName(denial))],
    ...(rule === undefined ? [] : [/** @type {const} */ (['At', quoted(`${rule.file}:${rule.line}`)])]),
    ['Explain', commandView(command)],
  ]
  return element(
    'details',
    {},
    element(
      'summary',
      {},
      rule === undefined ? 'why: no rule allows it' : `why: denied by ${ruleName(denial)}`,
    ),
    element('dl', {}, ...facts(entries)),
    element(
      'p',
      { class: 'quiet' },
      'For conditions on claims, locations, properties, metadata or the context, add them with --claim and --fact.',
    ),
  )
}

/**
 * `policy/rule`, or nothing without a rule.
 * @param {Pick<Denial, 'rule'> | undefined} ruled
 */
export function ruleName(ruled) {
  return ruled?.rule === undefined ? '' : `${ruled.rule.policy}/${ruled.rule.rule}`
}

/**
 * @param {Denial} denial
 * @param {string | undefined} principal
 */
function explainCommand({ permission, id, caller, facts }, principal) {
  const { isAnonymous, groups, issuer, key } = caller
  const identity = isAnonymous
    ? ['--anonymous']
    : [
        option('as', principal ?? ''),
        ...groups.map((group) => option('group', group)),
        ...(issuer === undefined ? [] : [option('issuer', issuer)]),
        ...(key === undefined ? [] : [option('key', key)]),
      ]
  return [
    'catalog-gateway policy explain --policies policies',
    ...identity,
    ...facts.map((fact) => option('fact', fact)),
    '--',
    quoteForShell(permission),
    quoteForShell(id),
  ].join(' ')
}

/**
 * In one word, so that a value that begins with a dash is not read as an option.
 * @param {string} name
 * @param {string} value
 */
function option(name, value) {
  return `--${name}=${quoteForShell(value)}`
}
