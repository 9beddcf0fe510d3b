import fc from 'fast-check'
import { expect, it } from 'vitest'
import { compilePolicies } from '../../../src/policy/policy-set.ts'
import { parseDocuments } from '../parse-documents.ts'
import { arbitraryPolicies, arbitraryRequest, taggedPolicies } from '../policy-arbitraries.ts'

const requests = fc.array(arbitraryRequest, { minLength: 10, maxLength: 10 })
const commits = { folders: ['s3://lake'], metadata: ['ticket'] }

it('policies passed between threads decide alike', () => {
  fc.assert(
    fc.property(fc.oneof(arbitraryPolicies, taggedPolicies), requests, (policies, requests) => {
      const documents = parseDocuments([...policies, { name: 'commits', namespace: [], commits, rules: [] }])
      const [before, after] = [compilePolicies(documents), compilePolicies(structuredClone(documents))]
      expect(after.revision).toBe(before.revision)
      for (const request of requests) expect(after.decide(request)).toEqual(before.decide(request))
    }),
  )
})

it('policies whose tags could not be read pass between threads', () => {
  const [document] = parseDocuments([{ name: 'p', namespace: [], rules: [] }])
  const tags = { namespace: 'unknown', tables: new Map(), line: 1, column: 1 } as const
  const documents = structuredClone(document === undefined ? [] : [{ ...document, tags }])
  expect(compilePolicies(documents).findTags({ namespace: [], table: undefined }).names).toBe('unknown')
})
