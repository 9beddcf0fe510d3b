import { z } from 'zod'
import { foldName, isReservedName } from '../../catalog-api/reserved-names.ts'

export const parameterNameGrammar = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** Query parameters outside the catalog API that an upstream receives. */
export const allowedQueryParametersSetting = z
  .array(z.string())
  .default([])
  .superRefine((names, context) => {
    const seen = new Set<string>()
    for (const [index, name] of names.entries()) {
      const problem = findProblem(name, seen)
      if (problem !== undefined)
        context.addIssue({ code: 'custom', path: [index], message: `${JSON.stringify(name)}: ${problem}` })
      seen.add(foldName(name))
    }
  })
  .describe(
    'Names of query parameters that callers may send to this upstream besides those of the catalog API, each once. ' +
      'Policies do not see them; the audit records of changes contain them. Names that the catalog API has in any ' +
      'place, and names of credentials, are refused, regardless of case, - and _.',
  )

function findProblem(name: string, seen: ReadonlySet<string>): string | undefined {
  if (!parameterNameGrammar.test(name)) return 'expected a letter, then up to 63 letters, digits, "-" and "_"'
  if (isReservedName(name))
    return 'the catalog API has a parameter, member, fact or credential of this name, which the gateway must check'
  return seen.has(foldName(name)) ? 'it is listed twice' : undefined
}
