import { element, facts } from './elements.js'
import { quoted } from './format.js'

/** @typedef {import('../../policy/restrictions/restriction.ts').RestrictionReport} Restriction */

/**
 * The rule, and the columns and rows that it leaves.
 * @param {Restriction} restriction
 */
export function restrictionView({ rule, columns, rows }) {
  return element(
    'dl',
    {},
    ...facts([
      ['Restricted by', quoted(`${rule.policy}/${rule.rule} (${rule.file}:${rule.line})`)],
      [
        'Columns',
        quoted(
          Object.entries(columns)
            .map(([name, type]) => `${name} ${type}`)
            .join(', '),
        ),
      ],
      ['Rows', rows === undefined ? 'all' : element('code', {}, rows)],
    ]),
  )
}
