# SPDX-License-Identifier: GPL-3.0-or-later
# fish completion for tlskit. Commands, options and their values come from the
# program itself (`tlskit complete …`), so this file knows none of them.

# The words before the cursor, without the one it stands in.
function __tlskit_words
    commandline -opc
end

# What the program says to `complete` and the arguments.
function __tlskit_ask
    set -l words (__tlskit_words)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    command $program complete $argv 2>/dev/null
end

# Prints the value of kind $argv[1] and choices $argv[2], each with $argv[3] in
# front; $argv[4] is what has been typed of it.
function __tlskit_values
    set -l front $argv[3]
    set -l typed $argv[4]
    if string match -q 'comma-*' -- $argv[1]; and string match -q '*,*' -- $typed
        set -l head (string replace -r '[^,]*$' '' -- $typed)
        set front $front$head
        set typed (string replace -r '.*,' '' -- $typed)
    end
    switch $argv[1]
        case '*choices'
            printf '%s\n' $front(string split '|' -- $argv[2])
        case '*suites' '*groups' '*algorithms'
            printf '%s\n' $front(__tlskit_ask (string replace comma- '' -- $argv[1]))
        case '*file'
            printf '%s\n' $front(__fish_complete_path $typed)
        case '*dir'
            printf '%s\n' $front(__fish_complete_directories $typed '')
        case user
            printf '%s\n' $front(__fish_complete_users)
    end
end

# Options of the command, or values where an option waits for one.
function __tlskit_arguments
    set -l words (__tlskit_words)
    set -l current (commandline -ct)
    contains -- -- $words
    and return
    for row in (__tlskit_ask $words[2])
        set -l column (string split \t -- $row)
        if test "$column[1]" = '*'
            set operands $column[2]
            continue
        end
        if test $column[2] != flag
            if test $words[-1] = $column[1]
                __tlskit_values $column[2] $column[3] '' $current
                return
            else if string match -q -- "$column[1]=*" $current
                __tlskit_values $column[2] $column[3] $column[1]= (string replace -- $column[1]= '' $current)
                return
            end
        end
        set -a options $column[1]\t$column[4]
    end
    if string match -q -- '-*' $current
        printf '%s\n' $options
    else if set -q operands[1]
        __tlskit_values $operands - '' $current
    end
end

function __tlskit_at_command
    test (count (__tlskit_words)) -eq 1
end

function __tlskit_at_help
    set -l words (__tlskit_words)
    test (count $words) -eq 2 -a "$words[2]" = help
end

complete -c tlskit -f
complete -c tlskit -n '__tlskit_at_command; or __tlskit_at_help' -a '(__tlskit_ask)'
complete -c tlskit -n __tlskit_at_command -a help -d 'Print help'
complete -c tlskit -n __tlskit_at_command -l help -d 'Print help'
complete -c tlskit -n __tlskit_at_command -l version -d 'Print versions'
complete -c tlskit -n 'not __tlskit_at_command; and not __tlskit_at_help' -a '(__tlskit_arguments)'
