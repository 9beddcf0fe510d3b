import { z } from 'zod'
import { findExtensionTypeKind } from '../../catalog-api/extension-types.ts'
import {
  extensionNameKey,
  isKnownMetadata,
  isMisspelledExtensionName,
  isReservedMetadata,
} from '../../catalog-api/schema-metadata.ts'

type FindProblem = (name: string) => string | undefined

const namesSchema = (findProblem: FindProblem) =>
  z
    .array(z.string().min(1).max(256))
    .default([])
    .superRefine((names, context) => {
      for (const [index, name] of names.entries()) {
        const problem = names.indexOf(name) < index ? 'it is listed twice' : findProblem(name)
        if (problem !== undefined)
          context.addIssue({ code: 'custom', path: [index], message: `${JSON.stringify(name)}: ${problem}` })
      }
    })

/** What callers may send to an upstream in the metadata of Arrow schemas, besides what the gateway knows. */
export const allowedColumnMetadataSettings = {
  allowedExtensionTypes: namesSchema(findExtensionTypeProblem).describe(
    'Arrow extension types of columns that callers may upload besides those that the gateway knows. Name only types whose ' +
      'values the upstream stores as they are: it must not read objects that a value names.',
  ),
  allowedSchemaMetadata: namesSchema(findMetadataProblem).describe(
    'Keys in the metadata of schemas and columns that callers may set besides those that the gateway knows, although ' +
      'catalogs may obey them (`lance:`, `lancedb::`, `mv.`, `computed_column.` and the like). Other metadata needs no setting.',
  ),
}

function findExtensionTypeProblem(name: string): string | undefined {
  const kind = findExtensionTypeKind(name)
  if (kind === 'references')
    return 'its values can refer to other objects; expected a policy that allows ReferenceData'
  return kind === undefined ? undefined : 'it is always accepted; remove it'
}

function findMetadataProblem(key: string): string | undefined {
  if (isMisspelledExtensionName(key)) return `it is another spelling of ${extensionNameKey}`
  return isReservedMetadata(key) && !isKnownMetadata(key) ? undefined : 'it is always accepted; remove it'
}
