import { expect, it } from 'vitest'
import type { JsonForm, JsonKind } from '../../../src/lib/json/json-form.ts'
import { getOperation, operationNames, type OperationName } from '../../../src/catalog-api/operations.ts'
import { getRequestForm } from '../../../src/catalog-api/body-forms.ts'
import { createAcceptedQuery, createMinimalRequest } from '../support/minimal-request.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { isThorough } from '../../support/thorough.ts'

// Every object that may be in the body of every operation, generated from the request schemas: nothing that they do not
// name passes, in any place and spelling.
const shared = useSharedGateway()

/** An object or list in a body: the names that lead to it, and how to write it around a value. */
interface Container {
  readonly path: readonly string[]
  readonly form: JsonForm
  readonly wrap: (value: unknown) => unknown
}

/** The members of a map are data. */
const operations = operationNames.filter(
  (name) => createMinimalRequest(name).members !== undefined && getOperation(name).body !== 'map',
)

/** Objects with closed members, each form once. */
function listContainers(operation: OperationName): readonly Container[] {
  const containers: Container[] = []
  const visited = new Set<JsonForm>()
  const visit = (container: Container): void => {
    const { form, path, wrap } = container
    if (visited.has(form)) return
    visited.add(form)
    if (form.items !== undefined) visit({ path, form: form.items, wrap: (value) => wrap([value]) })
    if (form.kinds.has('object') && form.others === undefined) containers.push(container)
    for (const [name, member] of form.members)
      visit({ path: [...path, name], form: member, wrap: (value) => wrap({ [name]: value }) })
  }
  visit({ path: [], form: getRequestForm(getOperation(operation)), wrap: (value) => value })
  return containers.filter(({ path }) => path[0] !== 'identity')
}

const misspellings: readonly ((name: string) => string)[] = [
  (name) => name.toUpperCase(),
  (name) => name.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase()),
  (name) => name.replaceAll('_', '-'),
  (name) => name.replaceAll('_', ''),
  (name) => `${name}\0`,
  (name) => `${name}\u0001`,
  (name) => `${name} `,
  (name) => `_${name}`,
]

const samples: Readonly<Record<JsonKind, unknown>> = {
  string: 'x',
  number: 1,
  boolean: true,
  object: {},
  list: [],
}

const kinds = Object.keys(samples) as JsonKind[]

/** Returns all cases in the long form; in the short one another one for each `index`. */
function selectCases<Case>(cases: readonly Case[], index: number): readonly Case[] {
  return isThorough ? cases : cases.filter((_, at) => at === index % cases.length)
}

it.each(operations)('%s takes only the members of its schema, at every depth', async (name) => {
  const { path, members = {} } = createMinimalRequest(name)
  const target = `${path}?${await createAcceptedQuery(name, shared)}`
  const failures: unknown[] = []
  const expectRefused = async (body: unknown, what: string): Promise<void> => {
    const merged = isObject(body) ? { ...members, ...body } : body
    const response = await shared.gateway.post(target, { body: merged as object })
    if (response.status !== 400 || shared.upstream.requests.length > 0)
      failures.push([what, response.status, body])
    shared.upstream.requests.length = 0
  }
  const containers = listContainers(name)
  let first = 0
  expect(containers.length).toBeGreaterThan(0)
  for (const { path: parents, form, wrap } of containers) {
    const where = parents.join('.')
    await expectRefused(wrap({ unheard_of: 1 }), `${where}.unheard_of`)
    for (const [known, member] of form.members) {
      const [kind = 'string'] = member.kinds
      first += 1
      for (const misspell of selectCases(misspellings, first)) {
        const other = misspell(known)
        if (form.members.has(other)) continue
        await expectRefused(wrap({ [other]: samples[kind] }), `${where}.${other}`)
      }
      if (known === 'identity') continue
      const wrongKinds = kinds.filter((wrong) => !member.kinds.has(wrong))
      for (const wrong of selectCases(wrongKinds, first)) {
        await expectRefused(wrap({ [known]: samples[wrong] }), `${where}.${known} is a ${wrong}`)
      }
    }
  }
  expect(failures).toEqual([])
})

it.each(operations)('%s takes null for each member that it does not require', async (name) => {
  const { path, members = {} } = createMinimalRequest(name)
  const operation = getOperation(name)
  const absent = [...getRequestForm(operation).members.keys()].map((member) => [member, null])
  const query = await createAcceptedQuery(name, shared)
  shared.upstream.handler = respondWith(operation.status, { namespaces: [] })
  const response = await shared.gateway.post(`${path}?${query}`, {
    body: { ...Object.fromEntries(absent), ...members },
  })
  expect(response).toMatchObject({ status: operation.status })
  shared.upstream.requests.length = 0
})

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
