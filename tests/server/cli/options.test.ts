import { Command, CommanderError } from 'commander';
import { describe, expect, test } from 'vitest';
import { addRequestOptions, toRequest, type RequestOptions } from '@/server/cli/options';
import { splitWords } from '@/server/cli/commandLine';

function parse(...words: string[]) {
  const command = addRequestOptions(
    new Command('run').argument('[program...]').passThroughOptions(),
  ).exitOverride();
  command.configureOutput({ writeErr: () => undefined });
  command.parse(words, { from: 'user' });
  return { request: toRequest(command.opts<RequestOptions>()), program: command.args };
}

describe('a request', () => {
  test.each<[string, string[], object]>([
    ['one whole GPU by default', [], { gpus: 1 }],
    ['number and MiB', ['-n', '2', '-m', '2048'], { gpus: 2, memoryMib: 2048 }],
    ["a fraction as Bitfusion's webhook writes it", ['-p', '0.500000'], { gpus: 1, fraction: 0.5 }],
    ['a fraction without a leading zero', ['-p', '.37'], { gpus: 1, fraction: 0.37 }],
    ['the whole as a fraction', ['-p', '1'], { gpus: 1, fraction: 1 }],
    [
      'servers with either separator',
      ['-l', 'a:1;b:2,[fd00::1]:3'],
      { gpus: 1, serverList: ['a:1', 'b:2', '[fd00::1]:3'] },
    ],
    ['--server_list', ['--server_list', 'a:1'], { gpus: 1, serverList: ['a:1'] }],
    ['--server-list', ['--server-list', 'a:1'], { gpus: 1, serverList: ['a:1'] }],
    [
      'repeated filters',
      ['--filter', 'device.name=H100', '--filter', 'server.hostname=a=b'],
      {
        gpus: 1,
        filters: [
          { key: 'device.name', value: 'H100' },
          { key: 'server.hostname', value: 'a=b' },
        ],
      },
    ],
    ['a wait in seconds', ['--timeout', '90'], { gpus: 1, waitSeconds: 90 }],
    ['a wait in minutes', ['--timeout', '5m'], { gpus: 1, waitSeconds: 300 }],
  ])('%s', (_, words, expected) => expect(parse(...words).request).toEqual(expected));
});

describe("the program's own options are left to it", () => {
  test.each<[string, string[], string[]]>([
    ['after --', ['-n', '1', '--', 'prog', '-n', '5'], ['prog', '-n', '5']],
    ['without --', ['-n', '1', 'prog', '-n', '5', '--', 'x'], ['prog', '-n', '5', '--', 'x']],
  ])('%s', (_, words, program) => {
    expect(parse(...words)).toEqual({ request: { gpus: 1 }, program });
  });
});

describe('wrong values', () => {
  test.each<[string[], RegExp]>([
    [['-n', '0'], /from 1/],
    [['-n', '-1'], /from 1/],
    [['-n', '1.5'], /whole number/],
    [['-n', 'two'], /whole number/],
    [['-p', '0'], /above 0 up to 1/],
    [['-p', '1.5'], /above 0 up to 1/],
    [['-p', 'half'], /above 0 up to 1/],
    [['-m', 'abc'], /whole number of MiB/],
    [['-m', '0'], /MiB from 1/],
    [['-m', '1e3'], /whole number/],
    [['-m', '1024', '-p', '0.5'], /cannot be used with/],
    [['-l', 'nohost'], /host:port/],
    [['-l', ''], /host:port/],
    [['--filter', 'device.name'], /key=value/],
    [['--filter', '=x'], /key=value/],
    [['--timeout', 'soon'], /time in seconds/],
    [['--bogus'], /unknown option/],
  ])('%j', (words, message) => {
    const attempt = () => parse(...words);
    expect(attempt).toThrow(CommanderError);
    expect(attempt).toThrow(message);
  });
});

test.each<[string, string[]]>([
  [
    '/usr/bin/python3 -m ipykernel_launcher -f {connection_file}',
    ['/usr/bin/python3', '-m', 'ipykernel_launcher', '-f', '{connection_file}'],
  ],
  ['prog "two words" \'$HOME\' a\\ b', ['prog', 'two words', '$HOME', 'a b']],
  ['prog --name="a \\"b\\""', ['prog', '--name=a "b"']],
  ['prog ""', ['prog', '']],
])('one quoted string: %s', (text, words) => expect(splitWords(text)).toEqual(words));
