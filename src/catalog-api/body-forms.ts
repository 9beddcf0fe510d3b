import type { z } from 'zod'
import {
  createForm,
  createObjectForm,
  createOpenForm,
  isOpen,
  mergeForms,
  noValue,
  type JsonForm,
} from '../lib/json/json-form.ts'
import { isOperationName, listIdMembers, type Operation, type OperationName } from './operations.ts'
import { operationSchemas } from './schemas/operation-schemas.ts'

/*
 * The members of JSON bodies. A request may have those of the request schemas, and what the settings add. Any other one
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

/** Every operation has a schema of its requests: without one, nothing would say which members it takes. */
const schemasByName: Readonly<
  Record<OperationName, { readonly request: z.ZodType; readonly response?: z.ZodType }>
> = operationSchemas

const responseForms = new WeakMap<Operation, JsonForm>()

/**
 * Returns the form of the JSON that the catalog API gives to a response, created once; undefined if it says nothing of
 * it.
 */
export function getResponseForm(operation: Operation): JsonForm | undefined {
  const schema = isOperationName(operation.name) ? schemasByName[operation.name].response : undefined
  if (schema === undefined) return undefined
  let form = responseForms.get(operation)
  if (form === undefined) responseForms.set(operation, (form = createForm(schema)))
  return form
}

const knownForms = new WeakMap<Operation, JsonForm>()

/** Returns the form of the JSON body of an operation, created once. It has all members that a body may repeat. */
export function getRequestForm(operation: Operation): JsonForm {
  let form = knownForms.get(operation)
  if (form === undefined) knownForms.set(operation, (form = createRequestForm(operation)))
  return form
}

function createRequestForm(operation: Operation): JsonForm {
  if (!isOperationName(operation.name)) return createExtraForm(operation)
  const form = createForm(schemasByName[operation.name].request)
  const query = operation.alsoFlat ? form.members.get('query') : undefined
  return query === undefined ? form : mergeForms(form, query)
}

function createExtraForm(operation: Operation): JsonForm {
  return createObjectForm(
    new Map([
      ['id', idForm],
      ['context', stringMapForm],
      ['identity', stringMapForm],
      ...listIdMembers(operation).map((name) => [name, idForm] as const),
      ...operation.members.map((name) => [name, undefinedValue] as const),
    ]),
  )
}

/** Paths of members besides those of the catalog API, by operation: `new_columns.comment`. Lists are not part of them. */
export type AllowedMembers = Readonly<Record<string, readonly string[]>>

/** Creates a function like `getRequestForm` that adds these members. */
export function createRequestForms(allowed: AllowedMembers): (operation: Operation) => JsonForm {
  const forms = new Map<string, JsonForm>()
  return (operation) => {
    const { name } = operation
    const paths = allowed[name]
    if (paths === undefined) return getRequestForm(operation)
    let form = forms.get(name)
    if (form === undefined) {
      form = paths.reduce(
        (extended, path) => allowMember(extended, path.split('.')),
        getRequestForm(operation),
      )
      forms.set(name, form)
    }
    return form
  }
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
