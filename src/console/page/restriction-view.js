import { element, facts, quoted } from './elements.js'
import { ruleText } from './format.js'

/** @typedef {import('../../policy/restrictions/restriction.ts').RestrictionReport} Restriction */

/**
 * The rule, and the columns and rows that it leaves.
 * @param {Restriction} restriction
 */
export function restrictionView({ rule, columns, rows }) {
  const names = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
  return facts([
    ['Restricted by', quoted(ruleText(rule))],
    ['Columns', quoted(names.join(', '))],
    ['Rows', rows === undefined ? 'all' : element('code', {}, rows)],
  ])
}
