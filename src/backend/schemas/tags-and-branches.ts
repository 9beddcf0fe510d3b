import { z } from 'zod'
import {
  branch,
  changeSchemas,
  every,
  flagMember,
  int64,
  maybe,
  model,
  optional,
  pageSchemas,
  pagingMembers,
  requestSchema,
  responseSchema,
  schemas,
} from './members.ts'

/** Percent-encoding triples the length at most, and file systems allow 255 bytes. */
const maxNameBytes = 80
const characters = /^[\p{L}\p{N}_.-]+$/u

/** Tags and parts of branches become file names. */
const isName = (text: string): boolean =>
  characters.test(text) &&
  !text.startsWith('.') &&
  !text.endsWith('.') &&
  !text.endsWith('.lock') &&
  !text.includes('..')

const isShort = (text: string): boolean => new TextEncoder().encode(text).length <= maxNameBytes

/** Only for new tags; lookups accept any name. */
const tagName = z
  .string()
  .refine(
    isName,
    'expected letters, digits, ".", "-" and "_", no dot at an end, no ".." and no ".lock" at the end',
  )
  .refine(isShort, `expected at most ${maxNameBytes} bytes of UTF-8`)

/** Only for new branches; `_` is the prefix of internal folders. */
const branchName = z
  .string()
  .refine(
    (text) => text.split('/').every((part) => isName(part) && !part.startsWith('_')),
    'expected names joined by "/", each of letters, digits, ".", "-" and "_" without "_" or a dot in front',
  )
  .refine((text) => text !== 'main', 'the main branch always exists')
  .refine(isShort, `expected at most ${maxNameBytes} bytes of UTF-8`)

const tagContents = model('TagContents', {
  ...every(int64, 'version', 'manifestSize'),
  branch: maybe.text,
})

/** Without a parent: main. `createAt` is in seconds since 1970. */
const branchContents = model('BranchContents', {
  parentBranch: maybe.text,
  ...every(int64, 'parentVersion', 'createAt', 'manifestSize'),
  metadata: maybe.properties,
})

const columnSummary = model('ColumnSummary', {
  ...every(z.string(), 'name', 'dataType'),
  nullable: z.boolean(),
})

const columnChange = model('ColumnChange', { name: z.string(), ...every(columnSummary, 'main', 'branch') })

const indexSummary = model('IndexSummary', {
  ...every(z.string(), 'indexName', 'status'),
  columns: z.array(z.string()),
  indexType: maybe.text,
})

const rowCountSummary = model('RowCountSummary', {
  ...every(int64, 'unchanged', 'newOnBase', 'newOnBranch', 'staleRecompute', 'inputsChanged'),
  deltaAvailable: z.boolean(),
})

/** Codes that clients know are among others `baseMoved`, `rowsChanged`, `columnChanged` and `parentNotMain`. */
const cherryPickError = model('CherryPickError', every(z.string(), 'code', 'message'))

/** `errors` say why the branch could not be applied to main. */
const branchDiff = model('BranchDiff', {
  fromBranch: z.string(),
  ...every(int64, 'parentVersion', 'mainVersion', 'branchVersion', 'rowCountMain', 'rowCountBranch'),
  baseMoved: z.boolean(),
  rowSummary: rowCountSummary,
  ...every(z.array(columnSummary), 'addedColumns', 'removedColumns'),
  changedColumns: z.array(columnChange),
  ...every(z.array(indexSummary), 'addedIndexes', 'removedIndexes'),
  errors: z.array(cherryPickError),
})

const sourceBranch = z.string().min(1)
const tags = z.record(z.string(), tagContents)
const taggedVersion = { tag: tagName, version: int64.min(1), branch }

export const referenceSchemas = {
  ListTableTags: {
    request: requestSchema(pagingMembers),
    // The second to the remote client of LanceDB.
    response: z.union([responseSchema({ tags, page_token: maybe.text }), tags]),
  },
  GetTableTagVersion: schemas({ tag: z.string() }, { version: int64, branch: maybe.text }),
  CreateTableTag: changeSchemas(taggedVersion, {}),
  UpdateTableTag: changeSchemas({ ...taggedVersion, tag: z.string() }, {}),
  DeleteTableTag: changeSchemas({ tag: z.string() }, {}),
  ListTableBranches: pageSchemas({}, { branches: z.record(z.string(), branchContents) }),
  CreateTableBranch: changeSchemas(
    { name: branchName, from_branch: optional.text, from_version: optional.count },
    {},
  ),
  DeleteTableBranch: changeSchemas({ name: z.string() }, {}),
  /** No request has a target: it is main. */
  DiffTableBranches: schemas({ from_branch: sourceBranch }, branchDiff.shape),
  /** `status` is `ready` after a dry run, `cherryPicked`, `failed` or `notImplemented`. */
  CherryPickTableBranch: changeSchemas(
    { from_branch: sourceBranch, dry_run: flagMember },
    {
      status: z.string(),
      diff: branchDiff.optional(),
      preview: z.object({ promotedColumns: maybe.texts }).optional(),
      mainVersionAfter: maybe.count,
    },
  ),
}
