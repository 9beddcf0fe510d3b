import { z } from 'zod'
import {
  findParents,
  getOperation,
  getRequestForm,
  isOperationName,
  isReservedName,
  operationNames,
} from '../../catalog-api/index.ts'
import { refuse, type SettingProblem } from '../../settings/index.ts'
import { suggestSimilar } from '../../lib/index.ts'

const pathGrammar = /^[A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_-]{0,63}){0,7}$/

/** Members of JSON bodies outside the catalog API that an upstream receives. */
export const allowedMembersSetting = z
  .record(z.string(), z.array(z.string()).min(1))
  .default({})
  .superRefine(refuse(findProblems))
  .describe(
    'Members of JSON bodies that callers may send to this upstream besides those of the catalog API, by operation: ' +
      '`AlterTableAddColumns: [comment, new_columns.comment]`. Policies do not see them; see ' +
      'docs/upstreams.md.',
  )

function* findProblems(members: Readonly<Record<string, readonly string[]>>): Generator<SettingProblem> {
  for (const [operation, paths] of Object.entries(members)) {
    const problem = findOperationProblem(operation)
    if (problem !== undefined) yield { path: [operation], message: problem }
    for (const [index, path] of problem === undefined ? paths.entries() : []) {
      const message = findPathProblem(operation, path, paths.indexOf(path) < index)
      if (message !== undefined)
        yield { path: [operation, index], message: `${JSON.stringify(path)}: ${message}` }
    }
  }
}

function findOperationProblem(name: string): string | undefined {
  if (!isOperationName(name))
    return `${JSON.stringify(name)} is not an operation of the catalog API${suggestSimilar(name, operationNames)}`
  return getOperation(name).body === 'arrow' ? `${name} has no JSON body` : undefined
}

function findPathProblem(operation: string, path: string, isRepeated: boolean): string | undefined {
  if (!isOperationName(operation)) return undefined
  if (!pathGrammar.test(path))
    return 'expected names of letters, digits, "-" and "_", joined by dots where members are nested'
  const names = path.split('.')
  const name = names.at(-1) ?? ''
  const parents = findParents(getRequestForm(getOperation(operation)), names)
  if (parents.length === 0)
    return `${operation} has no such object in its body; expected a parent that it has`
  if (parents.some(({ members }) => members.has(name))) return `${operation} has this member already; omit it`
  if (isReservedName(name))
    return 'the catalog API has a parameter, member, fact or credential of this name, which the gateway must check'
  return isRepeated ? 'it is listed twice' : undefined
}
