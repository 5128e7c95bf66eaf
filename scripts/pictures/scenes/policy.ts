import { join } from 'node:path'
import type { Scene } from '../studio.ts'

/** Rules, the question they lead to, and answers that are remembered. */
export const policy: Scene = {
  pictures: [
    'policy',
    'policy-explain',
    'approval',
    'approval-card',
    'approval-remember',
    'policy-grants',
    'policy-preview',
  ],
  async record(studio) {
    const { work } = studio
    const { travel, files } = studio.servers
    studio.configure({
      mcpServers: { travel, files: { ...files, roots: false } },
      jackfield: {
        roots: [work],
        rules: [
          { id: 'looking', verdict: 'allow', server: 'travel', hint: 'readOnly' },
          { id: 'reading', verdict: 'allow', tool: 'read_*', arguments: [{ at: '/path', inside: [work] }] },
          { id: 'no-moving', verdict: 'deny', server: 'files', tool: 'move_*' },
          { id: 'writing', verdict: 'ask', server: 'files', tool: 'write_*', scope: 'always' },
          { id: 'booking', verdict: 'ask', tool: 'book*', scope: 'conversation' },
        ],
      },
    })
    await studio.shows('policy', 'The rules, each with its author', 'jackfield policy')
    await studio.shows(
      'policy-explain',
      'Which rule decides about a call',
      'jackfield policy explain files move_file source=wishes.md destination=/etc/wishes.md',
    )
    const booking = {
      name: 'travel__bookVacation',
      arguments: {
        origin: 'NYC',
        destination: 'Barcelona',
        departure: '2027-06-15',
        returnDate: '2027-06-22',
        travelers: 1,
      },
    }
    const packing = {
      name: 'files__write_file',
      arguments: {
        path: join(work, 'pack.sh'),
        content: '#!/bin/sh\nrm -rf "$HOME/bag"\ncp wishes.md "$HOME/bag/"\n',
        note: 'zero\u200bwidth',
      },
    }
    studio.write('trip/model.json', {
      contextTokens: 200_000,
      turns: [
        { say: 'I found flights and a hotel that fit. I book them.', call: [booking] },
        { say: 'Not booked. I write down how to pack instead.', call: [packing] },
        { say: 'It is written.' },
      ],
    })
    await using chat = studio.shell()
    await chat.enter('jackfield chat --model script:model.json')
    await chat.until(/you › *$/m)
    chat.type('Book me a week in Barcelona in June.\r')
    await chat.until('Allow this call?')
    await chat.settled()
    studio.capture('approval', 'A model wants to book, and a rule says to ask', chat)
    await chat.choose('No')
    await chat.until(/pack\.sh[\s\S]*Allow this call\?/)
    await chat.settled()
    studio.capture(
      'approval-card',
      'Arguments shown as what they are',
      chat,
      /A model|The model wants to call Write/,
    )
    await chat.choose('Yes, and remember')
    await chat.choose('always')
    await chat.until('For which calls?')
    await chat.settled()
    studio.capture(
      'approval-remember',
      'An answer that applies to similar calls',
      chat,
      /wants to call.*Write|Remember it/,
    )
    await chat.choose('paths inside')
    await chat.until('It is written.')
    await studio.shows('policy-grants', 'What is remembered', 'jackfield policy grants')
    await studio.shows(
      'policy-preview',
      'What a rule would have changed',
      `jackfield policy preview '{"verdict":"deny","tool":"write_*"}'`,
    )
  },
}
