import { expect, it } from 'vitest'
import { getRequestForm } from '../../src/catalog-api/body-forms.ts'
import { getOperation, operationNames } from '../../src/catalog-api/operations.ts'
import type { JsonForm } from '../../src/lib/json/json-form.ts'

// An open member may contain any JSON, so an upstream could take a second object, a mode or a credential from it that no
// policy has seen.

/** Members whose values the request schemas do not describe, with the reason. */
const deliberatelyOpen: Readonly<Record<string, readonly string[]>> = {
  'A constant, which the function gets as an argument. Its type is that of the parameter.': [
    'AlterTableAddColumns function.application.initialization.*',
    'AlterTableAddColumns function.application.inputs.value',
  ],
  'Settings of code that may read any table: the operation requires ReadAnyTable.': [
    'CreateMaterializedView udtf_spec.error_handling.*',
  ],
}

/** Finds the open forms within a form: the names that lead to them, `*` for any name. */
function findOpen(form: JsonForm, path: readonly string[], visited: Set<JsonForm>): readonly string[] {
  if (form.others === form || form.items === form) return [path.join('.')]
  if (visited.has(form)) return []
  visited.add(form)
  return [
    ...[...form.members].flatMap(([name, member]) => findOpen(member, [...path, name], visited)),
    ...(form.others === undefined ? [] : findOpen(form.others, [...path, '*'], visited)),
    ...(form.items === undefined ? [] : findOpen(form.items, path, visited)),
  ]
}

it('no request has an open member, except those listed', () => {
  const found = operationNames.flatMap((name) =>
    findOpen(getRequestForm(getOperation(name)), [], new Set()).map((path) => `${name} ${path}`),
  )
  expect(found.toSorted()).toEqual(Object.values(deliberatelyOpen).flat().toSorted())
})
