import { getOpenApiDocument } from '../../src/catalog-api/openapi/openapi-document.ts'
import type { Operation, OperationName } from '../../src/catalog-api/operations.ts'

interface Document {
  readonly paths: Record<string, Record<string, { responses: Record<string, { $ref?: string }> }>>
  readonly components: {
    readonly responses: Record<string, { readonly 'x-codes': readonly number[] }>
    readonly schemas: Record<string, RequestSchema>
  }
}

interface RequestSchema {
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, { readonly type?: string }>>
}

const document = JSON.parse(getOpenApiDocument()) as Document

/** The error codes of an operation in the OpenAPI document. */
export function documentedCodes({ path, method }: Operation): readonly number[] {
  const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {}
  return Object.values(responses).flatMap(({ $ref }) => {
    return document.components.responses[$ref?.split('/').at(-1) ?? '']?.['x-codes'] ?? []
  })
}

export function requiredMembers(name: OperationName): readonly string[] {
  return document.components.schemas[`${name}Request`]?.required ?? []
}

/** The members of a JSON body, each with its JSON type; none for a member that refers to another schema. */
export function memberTypes(name: OperationName): readonly (readonly [member: string, type: string])[] {
  const { properties = {} } = document.components.schemas[`${name}Request`] ?? {}
  return Object.entries(properties).flatMap(([member, { type }]) =>
    type === undefined ? [] : [[member, type]],
  )
}
