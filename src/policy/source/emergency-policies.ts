import { groupBy } from '../../lib/group-by.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { formatProblem, PolicyError, type PolicyProblem } from '../language/policy-error.ts'
import { createFolderLocation, type PolicyLocation } from './policy-location.ts'

/** Names of policies in files contain no colon, so these differ from the names of all other sources. */
const prefix = 'emergency:'

/** A folder of emergency policies; the names of its files begin with `emergency:`. */
export function createEmergencyLocation(folder: string): PolicyLocation {
  const location = createFolderLocation(folder)
  return {
    ...location,
    async read() {
      const { stamp, files } = await location.read()
      return { stamp, files: files.map((file) => ({ ...file, name: prefix + file.name })) }
    },
  }
}

/**
 * Names emergency policies apart from all others. Throws PolicyError if one of them does anything but deny: then it
 * would not be safe that they are in force beside policies that were not written for them.
 */
export function toEmergencyDocuments(documents: readonly PolicyDocument[]): readonly PolicyDocument[] {
  // The documents of a policy with `forEach` have the same.
  const problems = groupBy(documents.flatMap(findProblems), formatProblem)
  if (problems.size > 0) throw new PolicyError([...problems.values()].flatMap((same) => same.slice(0, 1)))
  return documents.map((document) => ({ ...document, name: prefix + document.name }))
}

function findProblems(document: PolicyDocument): readonly PolicyProblem[] {
  const { isShadow, inherit, final, onDeny, tags, rules, file, line, column } = document
  const refused = [
    ...(isShadow ? ['mode: shadow'] : []),
    ...(inherit ? [] : ['inherit: false']),
    ...(final.size > 0 ? ['final'] : []),
    ...(onDeny === undefined ? [] : ['onDeny']),
    ...(tags === undefined ? [] : ['tags']),
  ]
  return [
    ...refused.map((member) => ({
      file,
      line,
      column,
      message: `${member} in the emergency folder; expected only rules with effect: deny`,
    })),
    ...rules
      .filter(({ effect }) => effect !== 'deny')
      .map((rule) => ({
        file,
        line: rule.line,
        message: `the rule "${rule.id}" has effect: allow in the emergency folder; expected deny`,
      })),
  ]
}
