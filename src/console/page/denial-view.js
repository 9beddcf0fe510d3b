import { commandView } from './commands.js'
import { element, facts } from './elements.js'
import { quoted } from './format.js'

/** @typedef {NonNullable<import('../console-state.ts').RefusedRequest['denial']>} Denial */

/**
 * Unfolds to the rule that denied a request, and the command that explains it.
 * @param {Denial} denial
 */
export function denialView(denial) {
  const { permission, id, rule, command } = denial
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
