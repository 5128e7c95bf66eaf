import {
  all,
  type Group,
  inMatrix,
  lacks,
  newest,
  no,
  ours,
  part,
  probed,
  ran,
  source,
  unknown,
  yes,
} from '../feature.ts'

export const asking: Group = {
  title: 'Input requests',
  features: [
    inMatrix('a form', all(yes(ran('shows a form and sends its values')))),
    inMatrix('a form that is declined or cancelled', all(yes(ran('has its decline understood')))),
    inMatrix(
      'a URL elicitation',
      all(yes(ran('is asked to visit a URL, with the answer accept')), { lite: no(lacks('elicitationId')) }),
    ),
    inMatrix('sampling', all(yes(ran('samples with its model, with the content of the server')))),
    inMatrix('sampling with tools', {
      v2: yes(ran('samples with its model and tools')),
      v1: yes(ran('samples with its model and tools')),
      fastmcp: unknown,
      lite: no(lacks('tool_use')),
    }),
    inMatrix('roots', all(yes(ran('lists its roots')), { lite: no(lacks('roots/list"')) })),
    inMatrix(
      'several questions in one call, with effects that happen once',
      all(yes(ran('answers one question after the other')), {
        v2: part('the handler must prevent repeated effects', ran('answers one question after the other')),
      }),
    ),
    inMatrix(
      'a client without the required capability',
      all(yes(ran('gets no request that it cannot answer'))),
    ),
    {
      title: 'one handler that asks with `await` works in both eras',
      ours: ours(
        'packages/sdk/test/asking/both-eras.test.ts > asks its questions, runs its steps once and reports its progress once',
        'packages/sdk/test/core/asking.test.ts > is suspended at an unanswered question instead of throwing, so that no catch runs',
      ),
      peers: newest(
        no(
          source('Server-to-client requests are not available on protocol revision'),
          '`await` throws on 2026-07-28',
        ),
      ),
    },
    {
      title: 'the explicit form, on both eras',
      ours: ours('packages/sdk/test/asking/both-eras.test.ts > may use the explicit form'),
      peers: newest(yes(source('_legacyInputRequiredShim'))),
    },
    {
      title: 'side effects run once per request',
      since: '2026-07-28',
      ours: ours(
        'packages/sdk/test/core/asking.test.ts > runs a step once in the lifetime of a request and waits for a running one before it ends the round',
      ),
      peers: newest(no(lacks('idempotencyKey'))),
    },
    {
      title: 'concurrent questions are sent together',
      since: '2026-07-28',
      ours: ours('packages/sdk/test/core/asking.test.ts > sends all questions of one turn in one round'),
      peers: newest(yes(ran('answers a person, a model and a list of folders in one turn'))),
    },
    {
      title: 'requestState is encrypted by default, bound to caller and request, and expires',
      since: '2026-07-28',
      ours: ours(
        'packages/sdk/test/core/sealed-state.test.ts > is encrypted',
        'packages/sdk/test/core/sealed-state.test.ts > is rejected with the same message for any change, and the reason is only logged',
      ),
      peers: newest(part('signed, if enabled', source('Create an opt-in HMAC-SHA256 codec'))),
    },
    {
      title: 'requestState is accepted once',
      since: '2026-07-28',
      ours: ours(
        'packages/sdk/test/core/sealed-state.test.ts > is single-use: the same retry sent twice runs once',
      ),
      peers: newest(unknown),
    },
    {
      title: 'key rotation that keeps open requests valid',
      since: '2026-07-28',
      ours: ours(
        'packages/sdk/test/core/sealed-state.test.ts > opens with an older key of the ring, and not for another audience',
      ),
      peers: newest(unknown),
    },
    {
      title: 'a test helper finds effects that happen twice',
      ours: ours('packages/sdk/test/testing/run-twice.test.ts > names the repeated effects'),
      peers: all(no(lacks('runTwice|reenter')), { lite: no(probed('serves 2026-07-28')) }),
    },
  ],
}
