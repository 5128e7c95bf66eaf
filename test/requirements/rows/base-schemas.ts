import type { Requirement } from '../requirement.ts'

export const baseSchemas: readonly Requirement[] = [
  {
    places: { '2511-101': 'basic/index#schema-dialect', '2607-031': 'basic/index#schema-dialect' },
    level: 'MUST',
    of: 'both',
    says: 'JSON Schema 2020-12 is supported.',
    proof: [
      'packages/sdk/test/validate/oracle.test.ts > agrees with ajv on generated schemas and values',
      'packages/sdk/test/validate/keywords.test.ts > each keyword',
      'packages/sdk/test/validate/dialects.test.ts > a schema is checked by the dialect it names',
    ],
    runs: {
      everywhere: [
        'a schema is of 2020-12 unless it names another dialect, and one that is not supported is an error',
      ],
    },
  },
  {
    places: {
      '2511-102': 'basic/index#implementation-requirements',
      '2607-032': 'basic/index#implementation-requirements',
    },
    level: 'MUST',
    of: 'both',
    says: 'A schema that names no dialect is one of 2020-12.',
    proof: [
      'packages/sdk/test/validate/dialects.test.ts > a schema without a dialect is one of 2020-12',
      'packages/sdk/test/client/apart.test.ts > in a dialect of JSON Schema it does not support is an error before the call',
    ],
    runs: {
      everywhere: [
        'a schema is of 2020-12 unless it names another dialect, and one that is not supported is an error',
      ],
    },
  },
  {
    places: {
      '2511-103': 'basic/index#implementation-requirements',
      '2607-033': 'basic/index#implementation-requirements',
    },
    level: 'MUST',
    of: 'both',
    says: 'Values are checked by the dialect of their schema; one that is not supported is an error that says so.',
    proof: [
      'packages/sdk/test/validate/dialects.test.ts > a schema is checked by the dialect it names',
      'packages/sdk/test/validate/dialects.test.ts > the dialect %s is refused by name',
      'packages/sdk/test/client/apart.test.ts > in a dialect of JSON Schema it does not support is an error before the call',
    ],
    runs: {
      everywhere: [
        'a schema is of 2020-12 unless it names another dialect, and one that is not supported is an error',
      ],
    },
  },
  {
    places: {
      '2511-104': 'basic/index#implementation-requirements',
      '2607-034': 'basic/index#implementation-requirements',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'It is written down which dialects are supported.',
    proof: ['packages/sdk/test/validate/dialects.test.ts > the README says which dialects are supported'],
    runs: { only: 'documentation' },
  },
  {
    places: { '2511-105': 'basic/index#schema-validation', '2607-035': 'basic/index#schema-validation' },
    level: 'MUST',
    of: 'both',
    says: 'Schemas are valid in their dialect.',
    proof: [
      'packages/sdk/test/server/definitions.test.ts > JSON Schema that is none',
      'packages/sdk/test/validate/refusals.test.ts > a schema is refused with its reason',
    ],
    runs: { only: 'definition' },
  },
  {
    places: { '2607-036': 'basic/index#ref-resolution' },
    level: 'MUST NOT',
    of: 'both',
    says: 'A reference to the network is never followed by itself.',
    proof: [
      'packages/sdk/test/client/results.test.ts > where the schema cannot be used; nothing is fetched',
      'packages/sdk/test/validate/refusals.test.ts > a network reference',
      'packages/sdk/test/server/definitions.test.ts > a network reference',
    ],
    runs: {
      everywhere: [
        'a schema that refers to the network is not fetched, and that nothing was checked is said',
      ],
    },
  },
  {
    places: { '2607-037': 'basic/index#ref-resolution' },
    level: 'MUST',
    of: 'both',
    says: 'Following such references, if offered, is off by default.',
    proof: [
      'packages/sdk/test/validate/refusals.test.ts > a network reference',
      'packages/sdk/test/client/results.test.ts > where the schema cannot be used; nothing is fetched',
    ],
    runs: {
      everywhere: [
        'a schema that refers to the network is not fetched, and that nothing was checked is said',
      ],
    },
  },
  {
    places: { '2607-038': 'basic/index#ref-resolution' },
    level: 'SHOULD',
    of: 'both',
    says: 'A schema with a reference that leads out of it is refused and not taken for one that allows everything.',
    proof: [
      'packages/sdk/test/validate/refusals.test.ts > a network reference',
      'packages/sdk/test/server/definitions.test.ts > a network reference',
      'packages/sdk/test/client/results.test.ts > where the schema cannot be used; nothing is fetched',
    ],
    runs: { only: 'definition' },
  },
  {
    places: { '2607-039': 'basic/index#composition-keyword-resource-use' },
    level: 'SHOULD',
    of: 'both',
    says: 'Checking a value has bounds, however its schema is made.',
    proof: [
      'packages/sdk/test/validate/refusals.test.ts > 32 levels are enough, 33 are too many',
      'packages/sdk/test/validate/refusals.test.ts > 2,000 subschemas are enough',
      'packages/sdk/test/validate/refusals.test.ts > a schema that doubles its work at every level is given up in time',
    ],
    runs: { only: 'inside' },
  },
  {
    places: { '2511-111': 'basic/index#icons', '2607-053': 'basic/index#icons' },
    level: 'MUST',
    of: 'client',
    says: 'Who shows icons can show PNG and JPEG.',
    none: 'Nothing of ours shows icons; they are handed on to applications that may.',
  },
  {
    places: { '2511-112': 'basic/index#icons', '2607-054': 'basic/index#icons' },
    level: 'SHOULD',
    of: 'client',
    says: 'Who shows icons can show SVG and WebP.',
    none: 'Nothing of ours shows icons; they are handed on to applications that may.',
  },
  {
    places: { '2511-113': 'basic/index#icons', '2607-055': 'basic/index#icons' },
    level: 'MUST',
    of: 'client',
    says: 'Icons are fetched and shown with every caution.',
    proof: ['packages/sdk/test/client/apart.test.ts > has icons that are safe to fetch, and no others'],
    runs: { everywhere: ['icons from anywhere but https: and data: are left out'] },
  },
  {
    places: { '2511-114': 'basic/index#icons', '2607-056': 'basic/index#icons' },
    level: 'MUST',
    of: 'client',
    says: 'Icons from anywhere but https: and data: are refused.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > has icons that are safe to fetch, and no others',
      'packages/sdk/test/server/definitions.test.ts > an icon over http',
      'packages/sdk/test/server/definitions.test.ts > a script as an icon',
    ],
    runs: { everywhere: ['icons from anywhere but https: and data: are left out'] },
  },
]
