// Runs the user's program with a grant: its output is untouched, signals reach it, its end is ours.
import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { childEnvironment } from '../env/child';
import { getEnv } from '../env';
import type { Grant } from '../proxy/grant';
import { grantEnvironment } from '../proxy/program';
import type { Invocation } from './commandLine';
import { CliFailure, exitStatus } from './failure';
import type { SignalWatch } from './signals';

// A program that is told to end gets this long to do it.
const terminateMs = 10_000;

/** Resolves with the exit status of `sluice`: the program's, or 128 + signal when one ended it. */
export function runProgram(invocation: Invocation, grant: Grant, signals: SignalWatch): Promise<number> {
  // At a terminal the program shares our process group, so that it may read from the terminal; Ctrl-C then
  // reaches it from there. Otherwise it has its own group, which gets each signal once, from us.
  const ownGroup = process.stdin.isTTY !== true;
  const child = spawn(invocation.file, [...invocation.args], {
    argv0: invocation.name,
    stdio: 'inherit',
    detached: ownGroup,
    env: childEnvironment(
      grantEnvironment(grant, invocation.clientLibraries, getEnv().libraryPath ?? undefined),
    ),
  });
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | null = null;
    signals.handle((signal) => {
      const fromTerminal = signal === 'SIGINT' || signal === 'SIGQUIT';
      if (ownGroup || !fromTerminal) deliver(child, signal, ownGroup);
      if (signal === 'SIGTERM' || signal === 'SIGHUP') {
        timer ??= setTimeout(() => deliver(child, 'SIGKILL', ownGroup), terminateMs);
      }
    });
    const finish = (how: () => void) => {
      if (timer !== null) clearTimeout(timer);
      signals.handle(null);
      how();
    };
    child.on('error', (error) => {
      finish(() =>
        reject(
          new CliFailure(
            `${invocation.file} cannot be executed: ${error.message}.`,
            null,
            exitStatus.notExecutable,
          ),
        ),
      );
    });
    child.on('exit', (code, signal) => {
      finish(() => resolve(signal === null ? (code ?? exitStatus.failed) : signalStatus(signal)));
    });
  });
}

/** The exit status of a command that a signal ended before its program ran. */
export function signalStatus(signal: NodeJS.Signals | null): number {
  return signal === null ? exitStatus.failed : exitStatus.signal + constants.signals[signal];
}

function deliver(child: ChildProcess, signal: NodeJS.Signals, group: boolean): void {
  if (child.pid === undefined) return;
  try {
    process.kill(group ? -child.pid : child.pid, signal);
  } catch {
    // It has just ended by itself.
  }
}
