import { z } from 'zod'
import {
  changeSchemas,
  flagMember,
  int64,
  optional,
  pageSchemas,
  pagingMembers,
  propertiesSchema,
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

const tagContents = z
  .object({ version: int64, manifestSize: int64, branch: z.string().optional() })
  .meta({ id: 'TagContents' })

const branchContents = z
  .object({
    /** Default: main. */
    parentBranch: z.string().optional(),
    parentVersion: int64,
    /** Seconds since 1970. */
    createAt: int64,
    manifestSize: int64,
    metadata: propertiesSchema.optional(),
  })
  .meta({ id: 'BranchContents' })

const columnSummary = z
  .object({ name: z.string(), dataType: z.string(), nullable: z.boolean() })
  .meta({ id: 'ColumnSummary' })

const indexSummary = z
  .object({
    indexName: z.string(),
    columns: z.array(z.string()),
    indexType: z.string().optional(),
    status: z.string(),
  })
  .meta({ id: 'IndexSummary' })

const rowCountSummary = z
  .object({
    unchanged: int64,
    newOnBase: int64,
    newOnBranch: int64,
    staleRecompute: int64,
    inputsChanged: int64,
    deltaAvailable: z.boolean(),
  })
  .meta({ id: 'RowCountSummary' })

/** Codes that clients know are among others `baseMoved`, `rowsChanged`, `columnChanged` and `parentNotMain`. */
const cherryPickError = z.object({ code: z.string(), message: z.string() }).meta({ id: 'CherryPickError' })

/** `errors` say why the branch could not be applied to main. */
const branchDiff = z
  .object({
    fromBranch: z.string(),
    parentVersion: int64,
    mainVersion: int64,
    branchVersion: int64,
    baseMoved: z.boolean(),
    rowCountMain: int64,
    rowCountBranch: int64,
    rowSummary: rowCountSummary,
    addedColumns: z.array(columnSummary),
    removedColumns: z.array(columnSummary),
    changedColumns: z.array(
      z.object({ name: z.string(), main: columnSummary, branch: columnSummary }).meta({ id: 'ColumnChange' }),
    ),
    addedIndexes: z.array(indexSummary),
    removedIndexes: z.array(indexSummary),
    errors: z.array(cherryPickError),
  })
  .meta({ id: 'BranchDiff' })

const sourceBranch = z.string().min(1)

const taggedVersion = { tag: tagName, version: int64.min(1), branch: optional.text }

export const referenceSchemas = {
  ListTableTags: {
    request: requestSchema(pagingMembers),
    response: z.union([
      responseSchema({ tags: z.record(z.string(), tagContents), page_token: z.string().optional() }),
      // To the remote client of LanceDB.
      z.record(z.string(), tagContents),
    ]),
  },
  GetTableTagVersion: schemas({ tag: z.string() }, { version: int64, branch: z.string().optional() }),
  CreateTableTag: changeSchemas(taggedVersion, {}),
  UpdateTableTag: changeSchemas({ ...taggedVersion, tag: z.string() }, {}),
  DeleteTableTag: changeSchemas({ tag: z.string() }, {}),
  ListTableBranches: pageSchemas(pagingMembers, { branches: z.record(z.string(), branchContents) }),
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
      preview: z.object({ promotedColumns: z.array(z.string()).optional() }).optional(),
      mainVersionAfter: int64.optional(),
    },
  ),
}
