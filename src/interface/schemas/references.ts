import { z } from 'zod'
import { int64, optional, paging, properties, request, response } from './members.ts'

/** Percent-encoded it is at most three times as long, and file systems take 255 bytes. */
const mostBytes = 80
const characters = /^[\p{L}\p{N}_.-]+$/u

/** A tag and each part of a branch becomes the name of a file. */
const isName = (text: string): boolean =>
  characters.test(text) &&
  !text.startsWith('.') &&
  !text.endsWith('.') &&
  !text.endsWith('.lock') &&
  !text.includes('..')

const isShort = (text: string): boolean => new TextEncoder().encode(text).length <= mostBytes

/** Names of new tags; a tag that is looked for is there or is not. */
const tagName = z
  .string()
  .refine(
    isName,
    'expected letters, digits, ".", "-" and "_", no dot at an end, no ".." and no ".lock" at the end',
  )
  .refine(isShort, `expected at most ${mostBytes} bytes of UTF-8`)

/** Names of new branches; `_` begins the folders that a branch has for itself. */
const branchName = z
  .string()
  .refine(
    (text) => text.split('/').every((part) => isName(part) && !part.startsWith('_')),
    'expected names joined by "/", each of letters, digits, ".", "-" and "_" without "_" or a dot in front',
  )
  .refine((text) => text !== 'main', 'the main branch always exists')
  .refine(isShort, `expected at most ${mostBytes} bytes of UTF-8`)

const tagContents = z.object({
  version: int64,
  manifestSize: int64,
  branch: z.string().optional(),
})

const branchContents = z.object({
  /** Absent: main. */
  parentBranch: z.string().optional(),
  parentVersion: int64,
  /** Seconds since 1970. */
  createAt: int64,
  manifestSize: int64,
  metadata: properties.optional(),
})

const taggedVersion = { tag: tagName, version: int64.min(1), branch: optional(z.string()) }

/** The schemas of the operations on tags and branches (interface section 2.8). */
export const referenceSchemas = {
  ListTableTags: {
    request: request(paging),
    response: response({ tags: z.record(z.string(), tagContents), page_token: z.string().optional() }),
  },
  GetTableTagVersion: {
    request: request({ tag: z.string() }),
    response: response({ version: int64, branch: z.string().optional() }),
  },
  CreateTableTag: { request: request(taggedVersion), response: response({}) },
  UpdateTableTag: {
    request: request({ ...taggedVersion, tag: z.string() }),
    response: response({}),
  },
  DeleteTableTag: { request: request({ tag: z.string() }), response: response({}) },
  ListTableBranches: {
    request: request(paging),
    response: response({
      branches: z.record(z.string(), branchContents),
      page_token: z.string().optional(),
    }),
  },
  CreateTableBranch: {
    request: request({
      name: branchName,
      from_branch: optional(z.string()),
      from_version: optional(int64),
    }),
    response: response({}),
  },
  DeleteTableBranch: { request: request({ name: z.string() }), response: response({}) },
}
