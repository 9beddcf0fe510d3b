import {
  createFormReader,
  createOpenForm,
  isOpen,
  type JsonForm,
  memoizeByObject,
  mergeForms,
  noValue,
} from '../lib/index.ts'
import { listIdMembers, type Operation } from './operations.ts'
import { findSchemas, schemaDefinitions } from './schemas.ts'

/*
 * The members of JSON bodies. A request may have those of the request schemas and of the settings. Any other one
 * is refused, as an upstream could take a second object, a mode or a credential from it that no policy has seen.
 */

/**
 * A value that the catalog API does not define. It may be any JSON, but no member at any depth may have a reserved
 * name (`isDecisiveName`).
 */
export const undefinedValue: JsonForm = createOpenForm()

const stringForm: JsonForm = { ...noValue, kinds: new Set(['string']) }
const idForm: JsonForm = { ...noValue, kinds: new Set(['list']), items: stringForm }
const stringMapForm: JsonForm = { ...noValue, kinds: new Set(['object']), others: stringForm }

const createForm = createFormReader(schemaDefinitions)

/**
 * Returns the form of the JSON that the catalog API gives to a response, created once; undefined if it says nothing of
 * it.
 */
export const getResponseForm: (operation: Operation) => JsonForm | undefined = memoizeByObject(({ name }) => {
  const schema = findSchemas(name)?.response
  return schema && createForm(schema)
})

/** Returns the form of the JSON body of an operation, created once. It has all members that a body may repeat. */
export const getRequestForm: (operation: Operation) => JsonForm = memoizeByObject((operation) => {
  const schemas = findSchemas(operation.name)
  if (schemas === undefined) return createExtraForm(operation)
  const form = createForm(schemas.request)
  const query = operation.alsoFlat ? form.members.get('query') : undefined
  return query === undefined ? form : mergeForms(form, query)
})

function createExtraForm(operation: Operation): JsonForm {
  const members = new Map([
    ['id', idForm],
    ['context', stringMapForm],
    ['identity', stringMapForm],
    ...listIdMembers(operation).map((name) => [name, idForm] as const),
    ...operation.members.map((name) => [name, undefinedValue] as const),
  ])
  return { ...noValue, kinds: new Set(['object']), members }
}

/** Paths of members besides those of the catalog API, by operation: `new_columns.comment`. Lists are not part of them. */
export type AllowedMembers = Readonly<Record<string, readonly string[]>>

/** Creates a function like `getRequestForm` that adds these members. */
export function createRequestForms(allowed: AllowedMembers): (operation: Operation) => JsonForm {
  return memoizeByObject((operation) =>
    (allowed[operation.name] ?? []).reduce(
      (form, path) => allowMember(form, path.split('.')),
      getRequestForm(operation),
    ),
  )
}

function allowMember(form: JsonForm, [name = '', ...rest]: readonly string[]): JsonForm {
  if (isOpen(form)) return form
  const members = new Map(form.members)
  if (form.kinds.has('object')) {
    const member = form.members.get(name)
    if (rest.length === 0) members.set(name, undefinedValue)
    else if (member !== undefined) members.set(name, allowMember(member, rest))
  }
  const { items } = form
  return { ...form, members, items: items && allowMember(items, [name, ...rest]) }
}

/**
 * Finds the forms of the objects that can have the member at a path; none if the path leads nowhere, or below a value
 * that may be any JSON.
 */
export function findParents(form: JsonForm, [name = '', ...rest]: readonly string[]): readonly JsonForm[] {
  if (isOpen(form)) return []
  const inItems = form.items === undefined ? [] : findParents(form.items, [name, ...rest])
  if (rest.length === 0) return form.kinds.has('object') ? [form, ...inItems] : inItems
  const member = form.members.get(name)
  return [...(member === undefined ? [] : findParents(member, rest)), ...inItems]
}
