import { getOpenApiDocument } from '../../src/catalog-api/openapi/openapi-document.ts'
import type { Operation, OperationName } from '../../src/catalog-api/operations.ts'

interface ErrorResponse {
  readonly content: {
    readonly 'application/json': {
      readonly schema: { readonly allOf?: readonly [unknown, { properties: { code: { enum: number[] } } }] }
    }
  }
}

interface Document {
  readonly paths: Record<string, Record<string, { responses: Record<string, { $ref?: string }> }>>
  readonly components: {
    readonly responses: Record<string, ErrorResponse>
    readonly schemas: Record<string, { readonly required?: readonly string[] }>
  }
}

const document = JSON.parse(getOpenApiDocument()) as Document

/** The error codes of an operation in the OpenAPI document. */
export function documentedCodes({ path, method }: Operation): readonly number[] {
  const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {}
  return Object.values(responses).flatMap(({ $ref }) => {
    const response = document.components.responses[$ref?.split('/').at(-1) ?? '']
    return response?.content['application/json'].schema.allOf?.[1].properties.code.enum ?? []
  })
}

export function requiredMembers(name: OperationName): readonly string[] {
  return document.components.schemas[`${name}Request`]?.required ?? []
}
