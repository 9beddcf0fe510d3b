import fc from 'fast-check'
import { expect, it } from 'vitest'
import { compilePolicies } from '../../../src/policy/policy-set.ts'
import { builtInVocabulary } from '../../../src/policy/language/policy-vocabulary.ts'
import { parseInThread } from '../../../src/policy/source/parse-in-thread.ts'
import { restoreDocument, toTransferable } from '../../../src/policy/source/transferable-document.ts'
import { parseDocuments } from '../parse-documents.ts'
import { arbitraryPolicies, arbitraryRequest } from '../policy-arbitraries.ts'

const requests = fc.array(arbitraryRequest, { minLength: 10, maxLength: 10 })

it('policies passed between threads decide alike', () => {
  fc.assert(
    fc.property(arbitraryPolicies, requests, (policies, requests) => {
      const documents = parseDocuments(policies)
      const passed = documents.map((document) => restoreDocument(structuredClone(toTransferable(document))))
      const [before, after] = [compilePolicies(documents), compilePolicies(passed)]
      expect(after.revision).toBe(before.revision)
      for (const request of requests) expect(after.decide(request)).toEqual(before.decide(request))
    }),
  )
})

const requirements = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: p }
namespace: []
commits: { metadata: [ticket], folders: ["s3://bucket/team"] }
`

it('a thread parses policies with commit requirements and reports errors with positions', async () => {
  const files = [requirements, 'kind: x\n', '---\n---\n'].map((text, index) => ({
    name: `${index}.yaml`,
    bytes: Buffer.from(text),
  }))
  const [first, second, third] = await parseInThread(files, builtInVocabulary)
  expect(first?.problems).toEqual([])
  expect(first?.documents[0]?.rules.map(({ condition }) => condition?.text)).toEqual([
    '{"folders":["s3://bucket/team"]}',
    '{"metadata":["ticket"]}',
  ])
  expect(second?.problems).toContainEqual(expect.objectContaining({ file: '1.yaml', line: 1, column: 7 }))
  expect(third).toEqual({ documents: [], problems: [] })
})
